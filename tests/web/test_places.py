"""What is served is known by its files, and by an id that is no path."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from unmask.errors import BadInput
from unmask.web.places import gather_places


def test_each_place_says_what_can_be_asked_of_it(make_model: Any, intent: Path, index: Path, data: Path) -> None:
    places = gather_places([make_model("bert"), intent, index, data])
    assert {place.id: place.abilities for place in places} == {
        "bert-wordpiece": ("hide", "fill", "score", "grow", "embed"),
        "intent": ("hide", "predict", "embed", "run"),
        "shelf": ("search", "corpus"),
        "data": ("hide", "corpus"),
    }


def test_a_folder_stands_for_the_runs_below_it_and_names_stay_apart(
    intent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder / "run").mkdir(parents=True)
        shutil.copy(intent / "run.json", tmp_path / folder / "run")
    monkeypatch.chdir(tmp_path)
    assert [place.id for place in gather_places([tmp_path])] == ["run", "run-2"]
    assert [place.id for place in gather_places([])] == ["run", "run-2"]
    assert [place.id for place in gather_places([intent, intent / "model", intent])] == ["intent", "intent-2"]


def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        gather_places([tmp_path / "nothing"])
    with pytest.raises(BadInput, match="has nothing to serve, it is an empty folder"):
        gather_places([tmp_path])
    (tmp_path / "file").write_text("a")
    with pytest.raises(BadInput, match="is a file"):
        gather_places([tmp_path / "file"])
