"""What was found out is there after a kill, and only for who asks the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.errors import BadInput, Damaged, Refused
from unmask.evaluation.ledger import open_ledger


def test_nothing_is_found_out_twice_not_even_by_another_process(tmp_path: Path) -> None:
    found = []
    for resume in (False, True):
        with open_ledger(tmp_path / "out", {"seed": 0}, resume=resume) as ledger:
            for name in ("a", "b"):
                found.append(ledger.once(name, lambda name=name: found.append(name) or {"value": float("nan")}))
    assert found[:4] == ["a", {"value": None}, "b", {"value": None}] and found[4:] == [{"value": None}] * 2


def test_who_asks_something_else_is_refused_by_its_name(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "out", {"seed": 0, "budget": {"tokens": 5}}, resume=False) as ledger:
        ledger.once("a", lambda: 1)
    with pytest.raises(Refused, match="is not empty; add --resume"), open_ledger(tmp_path / "out", {}, resume=False):
        pass
    asked = {"seed": 0, "budget": {"tokens": 6}}
    with (
        pytest.raises(Refused, match=r"budget\.tokens: the comparison has 5, asked for 6"),
        open_ledger(tmp_path / "out", asked, resume=True),
    ):
        pass


def test_two_cannot_compare_in_one_place_and_a_changed_byte_is_found(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_ledger(out, {}, resume=False) as ledger:
        ledger.once("a", lambda: 1)
        with pytest.raises(Refused, match=r"another process .* is comparing here"), open_ledger(out, {}, resume=True):
            pass
    file = out / "progress.json"
    file.write_text(file.read_text().replace('"a": 1', '"a": 2'))
    with pytest.raises(Damaged, match=r"progress\.json: its hash does not hold"), open_ledger(out, {}, resume=True):
        pass
    with pytest.raises(BadInput, match="is a file"), open_ledger(file, {}, resume=True):
        pass


@pytest.mark.parametrize("resume", [False, True])
def test_nothing_is_written_into_a_folder_of_other_things(tmp_path: Path, resume: bool) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "README.md").write_text("mine")
    said = r"has files but no progress\.json, so it is not a comparison; choose another --out, as .*/comparison$"
    with pytest.raises(Refused, match=said), open_ledger(notes, {}, resume=resume):
        pass
    assert [entry.name for entry in notes.iterdir()] == ["README.md"]


def test_a_comparison_is_known_before_its_first_answer(tmp_path: Path) -> None:
    with open_ledger(tmp_path, {"seed": 0}, resume=False):
        (tmp_path / "runs").mkdir()  # what was made on the way to an answer that never came
    with open_ledger(tmp_path, {"seed": 0}, resume=True) as ledger:
        assert ledger.answers == {}
