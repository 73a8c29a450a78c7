"""The page of a tuned run has what was judged, whatever the task, and nothing from data is taken for HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from unmask.runs.tuned_report import judged_figures, tuned_sections

FIGURE = {"value": 0.8, "low": 0.75, "high": None}


def sections(path: Path, tuned: Any) -> str:
    (path / "tuned.json").write_text(json.dumps(tuned))
    return tuned_sections(path)


def test_figures_stand_beside_baselines_and_confusions_are_a_picture(tmp_path: Path) -> None:
    judged = {
        "accuracy": {"value": 0.8, "low": 0.75, "high": 0.85},
        "baselines": [{"name": "majority", "accuracy": {"value": 0.5, "low": 0.4, "high": 0.6}}],
        "labels": [{"label": "<b>", "examples": 7, "f1": 0.5}],
        "confusions": [{"true": "<b>", "said": "c", "count": 3}, {"true": "c", "said": "c", "count": 4}],
        "errors": [{"line": 3, "text": "<script>alert(1)</script>", "said": ["c"]}],
    }
    html = sections(tmp_path, {"test": judged, "overlaps": [{"part": "test", "known": True, "texts": 9, "exact": 2}]})
    assert "0.800 (0.750–0.850)" in html and "majority" in html and "0.500 (0.400–0.600)" in html
    assert "<script>" not in html and "&lt;script&gt;" in html and "<b>" not in html
    picture = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    assert len(picture.findall("rect")) == 4 and {text.text for text in picture.findall("text")} >= {
        "<b>",
        "c",
        "3",
        "4",
    }


def test_what_leaked_and_what_cannot_be_known_stands_on_the_page(tmp_path: Path) -> None:
    figure = FIGURE | {"high": 0.85}
    judged = {"clean_f1": figure, "leaked": 7, "f1": figure, "calibration_error": 0.125}
    overlaps = [
        {"part": "test", "source": "data", "path": "wiki/data", "known": True, "texts": 9, "runs": 7},
        {"part": "test", "source": "pretraining", "known": False},
    ]
    spread = {"seeds": 3, "mean": 0.75, "deviation": 0.01, "least": 0.74, "most": 0.76}
    html = sections(tmp_path, {"test": judged, "overlaps": overlaps, "spread": spread, "measured_before": 2})
    assert "wiki/data" in html and "not known here" in html and "0.740" in html and "0.125" in html
    assert "measured on this test set before" in html and html.index(">f1<") < html.index(">clean f1<")
    assert next(judged_figures(tmp_path))[1].startswith("f1 on test")


def test_the_page_heads_with_what_nothing_was_chosen_by(tmp_path: Path) -> None:
    macro = {"value": 0.7, "low": None, "high": None}
    for chosen, said in (
        ("accuracy", ("0.800", "accuracy on test examples")),
        ("macro_f1", ("0.700", "macro f1 on test examples")),
    ):
        sections(tmp_path, {"test": {"accuracy": FIGURE | {"low": None}, "macro_f1": macro, "chosen_by": chosen}})
        assert [*judged_figures(tmp_path)] == [said]
    sections(tmp_path, {"folds": {"ndcg": {"value": 0.4, "low": 0.3, "high": 0.5}}})
    assert [*judged_figures(tmp_path)] == [("0.400", "ndcg by folds (0.300–0.500)")]
    sections(tmp_path, {"test": None})
    assert [*judged_figures(tmp_path)] == []


def test_what_is_not_there_or_cannot_be_read_adds_nothing(tmp_path: Path) -> None:
    assert tuned_sections(tmp_path) == "" and sections(tmp_path, []) == ""
    assert sections(tmp_path, {"test": None, "trials": [], "overlaps": []}) == ""
    (tmp_path / "tuned.json").write_text("{")
    assert tuned_sections(tmp_path) == ""
