"""Slices part the examples that say where they belong, and count them right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unmask.runs.slices import Slice, run_slices, slices_of


def answer(score: float = 1.0, **values: object) -> dict[str, object]:
    return {"line": 1, "score": score, **values}


def test_examples_are_parted_by_words_windows_and_fields() -> None:
    answers = [
        answer(1.0, words=3, windows=1, fields={"source": "mail", "line": "a"}),
        answer(0.0, words=8, windows=1, fields={"source": "chat", "line": "b"}),
        answer(1.0, words=300, windows=5, fields={"source": "mail", "line": "c"}),
    ]
    found = {(each.by, each.name): (each.examples, each.score) for each in slices_of(answers)}
    assert found == {
        ("words", "up to 8"): (2, 0.5),
        ("words", "more than 256"): (1, 1.0),
        ("windows", "1"): (2, 0.5),
        ("windows", "3 or more"): (1, 1.0),
        ("source", "chat"): (1, 0.0),
        ("source", "mail"): (2, 1.0),
        ("line", "a"): (1, 1.0),
        ("line", "b"): (1, 0.0),
        ("line", "c"): (1, 1.0),
    }


def test_a_share_has_its_interval_and_a_mean_of_scores_has_none() -> None:
    shares = slices_of([answer(number % 2, words=number) for number in range(1, 21)])
    assert all(each.low is not None and each.low < each.score < (each.high or 0) for each in shares)
    (first, _) = slices_of([answer(0.25, words=1), answer(0.75, words=1), answer(1.0, words=50)])
    assert first == Slice(by="words", name="up to 8", examples=2, score=0.5)


def test_what_does_not_part_them_or_was_made_to_do_harm_is_left_out(tmp_path: Path) -> None:
    assert slices_of([answer(words=3), answer(words=4)]) == []
    many = [answer(fields={"id": str(number)}) for number in range(40)]
    assert slices_of(many) == []
    odd = [answer(10**400, words=1), answer(float("nan"), words=20), answer(1, words=True, windows=-1, fields=[1])]
    assert slices_of([*odd, answer(1, fields={"a": {"b": 1}, "x" * 99: "y"}), {"words": 3}]) == []
    assert run_slices(tmp_path) == []
    (tmp_path / "answers.jsonl").write_text("{")
    assert run_slices(tmp_path) == []
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer(words=n * 10)) + "\n" for n in range(4)))
    assert sum(each.examples for each in run_slices(tmp_path)) == pytest.approx(4)
