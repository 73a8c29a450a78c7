from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput, BadLines
from unmask.evaluation.rescore import CandidateList, choose, read_lists, rescore, word_errors
from unmask.inference.score import ScoreSettings

Make = Callable[..., Path]
TEXTS = [
    "the dog hears music",
    "the sea paints a bridge",
    "nobody likes the king",
    "clouds again",
    "the cat sees bread",
]


def lists_file(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return path


def test_a_model_that_knows_the_answer_is_given_weight_and_lists_that_tuned_it_do_not_judge_it(
    make_model: Make, tmp_path: Path
) -> None:
    scorer = unmask.load(make_model()).scorer
    known = [scored.score for scored in scorer.score(TEXTS, ScoreSettings())]  # type: ignore[union-attr]
    draw = np.random.default_rng(0)
    records = []
    for _ in range(40):
        places = draw.choice(len(TEXTS), 3, replace=False).tolist()
        candidates = [{"text": TEXTS[place], "score": draw.normal()} for place in places]
        records.append({"candidates": candidates, "best": int(np.argmax([known[place] for place in places]))})
    result = rescore(scorer, lists_file(tmp_path / "lists.jsonl", records), ScoreSettings())
    assert result.measure == "accuracy" and (result.tuned_on, result.judged_on) == (20, 20)
    assert result.weight > 0 and result.model_alone.value == result.oracle == 1
    assert result.after.value > result.before.value and result.fewer_errors.low > 0
    assert len(result.choices) == 40
    own = [int(np.argmax([each["score"] for each in record["candidates"]])) for record in records]
    right = [choice == record["best"] for choice, record in zip(own, records, strict=True)]
    assert result.before.value == np.mean(right[1::2])


def test_a_reference_is_judged_by_word_errors(make_model: Make, tmp_path: Path) -> None:
    record = {"candidates": [{"text": "the dog", "score": 1}, {"text": "the cat", "score": 0}], "reference": "the cat"}
    result = rescore(unmask.load(make_model()).scorer, lists_file(tmp_path / "l.jsonl", [record] * 6), ScoreSettings())
    assert result.measure == "word error rate"
    assert result.before.value == 0.5 and result.oracle == 0


@pytest.mark.parametrize(
    ("said", "meant", "errors"),
    [("a b c", "a b c", 0), ("", "a b", 2), ("a x c", "a b c", 1), ("a c", "a b c", 1), ("b c d", "a b c", 2)],
)
def test_word_errors_are_the_fewest_changes(said: str, meant: str, errors: int) -> None:
    assert word_errors(said.split(), meant.split()) == errors


def test_without_weight_the_candidates_own_scores_choose() -> None:
    lists = [CandidateList(("a", "b"), np.array([0.0, 1.0]), None, 0)]
    assert choose(lists, [np.array([5.0, 0.0])], 0.0) == [1]
    assert choose(lists, [np.array([5.0, 0.0])], 1.0) == [0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "lists.jsonl:5: not JSON"),
        ('{"candidates": []}', "5: no field 'candidates' with a list"),
        ('{"candidates": [{"text": "a"}], "best": 0}', "5: a candidate without a finite 'score'"),
        ('{"candidates": [{"text": " ", "score": 1}], "best": 0}', "5: a candidate without a 'text'"),
        ('{"candidates": [{"text": "a", "score": 1}], "best": 7}', "5: neither a 'reference'"),
        ('{"candidates": [{"text": "a", "score": 1}], "best": "b"}', "5: 'best' is the text of no candidate"),
    ],
)
def test_a_line_that_is_no_list_is_named(tmp_path: Path, line: str, reason: str) -> None:
    good = json.dumps({"candidates": [{"text": "a", "score": 1}], "best": "a"})
    (tmp_path / "lists.jsonl").write_text("\n".join([good] * 4 + [line]), encoding="utf-8")
    with pytest.raises(BadLines) as told:
        read_lists(tmp_path / "lists.jsonl")
    assert reason in told.value.lines[0]


def test_too_few_lists_and_mixed_ones_are_refused(tmp_path: Path, make_model: Make) -> None:
    best = {"candidates": [{"text": "a", "score": 1}], "best": 0}
    with pytest.raises(BadInput, match="3 lists; to choose a weight"):
        read_lists(lists_file(tmp_path / "few.jsonl", [best] * 3))
    mixed = [best, best, {"candidates": best["candidates"], "reference": "a"}, best]
    with pytest.raises(BadInput, match="the same field"):
        read_lists(lists_file(tmp_path / "mixed.jsonl", mixed))
    with pytest.raises(BadInput, match="--rescore: give one file"):
        unmask.score(make_model(), "a text", rescore=True)
