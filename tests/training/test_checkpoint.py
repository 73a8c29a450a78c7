import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from unmask.errors import Damaged
from unmask.files import sha256_of, with_seal, write_json
from unmask.progress import show_progress
from unmask.training.checkpoint import FILES, INDEX, Checkpoint, any_in, load, newest, save


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
    for place in {*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1}:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        found = newest(tmp_path)
        assert found is not None and found.step == 1


@pytest.mark.parametrize("name", [*FILES, INDEX])
def test_a_truncated_or_missing_file_is_found(tmp_path: Path, name: str) -> None:
    path = save(tmp_path, moment(2)) / name
    for less in (1, 3):
        path.write_bytes(path.read_bytes()[:-less])
        with pytest.raises(Damaged):
            load(path.parent)
    path.unlink()
    with pytest.raises(Damaged):
        load(path.parent)


def test_the_damaged_one_is_named_as_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "[old] runs"
    save(folder, moment(1))
    (save(folder, moment(2)) / INDEX).write_text("{}")
    with show_progress(Console(stderr=True, width=1000)):
        newest(folder)
    assert "[old] runs/step-0000002" in "".join(capsys.readouterr().err.splitlines())


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


def crafted(path: Path, **changes: Any) -> Path:
    """A checkpoint whose index was written by somebody else, with a seal that holds."""
    index = json.loads((path / INDEX).read_text()) | changes
    index["sha256"] = index["sha256"] if "sha256" in changes else {name: sha256_of(path / name) for name in FILES}
    write_json(path / INDEX, with_seal({key: value for key, value in index.items() if key != "seal"}))
    return path


def test_a_pickle_with_a_hash_that_holds_runs_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(tmp_path / "checkpoints", moment(1))
    (path / "model.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(Damaged, match=r"step-0000001: cannot be read"):
        load(crafted(path))
    assert not Path("exploded").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"sha256": {"../../../model.safetensors": "0", "optimizer.safetensors": "0"}},
        {"sha256": ["model.safetensors"]},
        {"sha256": None},
        {"step": "../../7"},
        {"step": None},
        {"state": ["tokens"]},
    ],
)
def test_a_crafted_index_is_refused_by_name(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = crafted(save(tmp_path, moment(1)), **changes)
    with pytest.raises(Damaged, match="step-0000001"):
        load(path)


def test_an_index_nested_without_end_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, moment(1))
    (path / INDEX).write_text("[" * 100_000)
    with pytest.raises(Damaged, match="step-0000001"):
        load(path)


def test_names_of_tensors_are_never_paths(tmp_path: Path) -> None:
    escaping = Checkpoint(1, {"../../escaped": torch.ones(2)}, {"/escaped/momentum": torch.ones(2)}, {})
    back = load(save(tmp_path / "run" / "checkpoints", escaping))
    assert list(back.model) == ["../../escaped"]
    assert sorted(each.name for each in tmp_path.rglob("*")) == sorted(
        ["run", "checkpoints", "step-0000001", *FILES, INDEX]
    )


@pytest.mark.parametrize("name", [*FILES, INDEX])
def test_a_directory_in_place_of_a_file_is_named_and_the_checkpoint_before_is_used(tmp_path: Path, name: str) -> None:
    save(tmp_path, moment(1))
    path = save(tmp_path, moment(2)) / name
    path.unlink()
    path.mkdir()
    with pytest.raises(Damaged, match="step-0000002"):
        load(path.parent)
    found = newest(tmp_path)
    assert found is not None and found.step == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_checkpoint_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    save(tmp_path, moment(1))
    path = save(tmp_path, moment(2)) / FILES[0]
    path.chmod(0)
    with pytest.raises(Damaged, match="Permission denied"):
        load(path.parent)


def test_a_file_in_place_of_a_checkpoint_is_passed_over(tmp_path: Path) -> None:
    save(tmp_path, moment(1))
    (tmp_path / "step-0000009").write_text("")
    found = newest(tmp_path)
    assert found is not None and found.step == 1
    save(tmp_path, moment(10))
    save(tmp_path, moment(11))
    found = newest(tmp_path)
    assert found is not None and found.step == 11


def test_a_folder_has_something_saved_as_soon_as_a_checkpoint_is_there(tmp_path: Path) -> None:
    assert not any_in(tmp_path / "nowhere") and not any_in(tmp_path)
    save(tmp_path, moment(1))
    assert any_in(tmp_path)
