import pickle
from pathlib import Path

import pytest
import torch

from unmask.errors import Damaged
from unmask.training.checkpoint import FILES, INDEX, Checkpoint, load, newest, save


def moment(step: int) -> Checkpoint:
    return Checkpoint(step, {"w": torch.full((3, 2), float(step))}, {"w/momentum": torch.ones(3, 2)}, {"tokens": 5})


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    back = load(save(tmp_path, moment(7)))
    assert (back.step, back.state) == (7, {"tokens": 5})
    assert torch.equal(back.model["w"], moment(7).model["w"])
    assert torch.equal(back.optimizer["w/momentum"], torch.ones(3, 2))


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path, moment(step))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["step-0000002", "step-0000003"]


@pytest.mark.parametrize("name", [*FILES, INDEX])
def test_any_flipped_byte_is_found_and_the_checkpoint_before_is_used(tmp_path: Path, name: str) -> None:
    save(tmp_path, moment(1))
    path = save(tmp_path, moment(2)) / name
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        found = newest(tmp_path)
        assert found is not None and found.step == 1


@pytest.mark.parametrize("name", [*FILES, INDEX])
def test_a_truncated_or_missing_file_is_found(tmp_path: Path, name: str) -> None:
    path = save(tmp_path, moment(2)) / name
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(Damaged):
        load(path.parent)
    path.unlink()
    with pytest.raises(Damaged):
        load(path.parent)


def test_when_every_checkpoint_is_damaged_that_is_said(tmp_path: Path) -> None:
    (save(tmp_path, moment(1)) / INDEX).write_text("{}")
    with pytest.raises(Damaged, match="every checkpoint is damaged"):
        newest(tmp_path)


def test_what_was_being_written_when_the_process_died_is_not_a_checkpoint(tmp_path: Path) -> None:
    save(tmp_path, moment(1))
    (tmp_path / ".step-0000009.writing").mkdir()
    found = newest(tmp_path)
    assert found is not None and found.step == 1


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path("exploded").touch, ())


def test_a_pickle_in_place_of_weights_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(tmp_path / "checkpoints", moment(1))
    (path / "model.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(Damaged, match="is not the file that was saved"):
        load(path)
    assert not Path("exploded").exists()
