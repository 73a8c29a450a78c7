"""Every look at a test set is counted once for each model."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.evaluation.tuned.measured import measured_file, note_measurements


def test_other_weights_on_the_same_test_set_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert [note_measurements("t", {weights: tmp_path}) for weights in ("a", "a", "b", "a", "c")] == [0, 0, 1, 1, 2]
    assert note_measurements("other", {"a": tmp_path}) == 0
    assert note_measurements("other", {"b": tmp_path, "c": tmp_path, "a": tmp_path}) == 0  # seeds of one tuning
    assert note_measurements("other", {"d": tmp_path}) == 3
    with measured_file().open("a") as file:
        file.write('{"test": "t", "wei')
    assert note_measurements("t", {"a": tmp_path}) == 2


def test_a_place_that_cannot_be_written_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert [note_measurements("t", {weights: tmp_path}) for weights in ("a", "b")] == [0, 0]
