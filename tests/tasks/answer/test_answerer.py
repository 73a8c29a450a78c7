"""What `predict` says to a question is what was measured, alone or among others, by words or in a file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput, Damaged
from unmask.evaluation.tuned.answer import answer_scores
from unmask.tasks.answer.answerer import read_answer_card
from unmask.tasks.answer.questions import read_questions


def test_predict_says_what_the_evaluation_measured(
    answerer_run: unmask.Tuned, question_files: dict[str, Path], tmp_path: Path, inside: Callable[..., Any]
) -> None:
    test = read_questions(question_files["test"]).examples
    lines = [json.dumps({"question": each.question, "context": each.context}) + "\n" for each in test]
    (tmp_path / "test.jsonl").write_text("".join(lines))
    done = inside("predict", answerer_run.path, tmp_path / "test.jsonl", "--json")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    scores = answer_scores([each["answer"] or "" for each in said], test)
    assert isinstance(answerer_run.test, unmask.JudgedAnswers)
    assert scores.mean(0).tolist() == pytest.approx([answerer_run.test.exact.value, answerer_run.test.f1.value])
    for each, question in zip(said, test, strict=True):
        assert each["answer"] is None or each["answer"] == question.context[each["start"] : each["end"]]
        assert 0 < each["probability"] <= 1 and 0 <= each["no_answer"] <= 1


def test_on_dev_it_says_what_was_measured_while_it_trained(
    answerer_run: unmask.Tuned, question_files: dict[str, Path]
) -> None:
    dev = read_questions(question_files["dev"]).examples
    words = [text for each in dev for text in (each.question, each.context)]
    said = [each.answer or "" for each in unmask.predict(answerer_run.path, *words)]  # type: ignore[union-attr]
    assert answer_scores(said, dev)[:, 1].mean() == pytest.approx(answerer_run.figures["f1"])


def test_a_question_is_answered_alike_alone_and_among_others(answerer_run: unmask.Tuned) -> None:
    contexts = ["of course nobody likes music again .", "at night . " * 80 + "of course nobody likes music again ."]
    pairs = [text for context in contexts for text in ("the king ?", context)]
    together = unmask.predict(answerer_run.path, *pairs)
    for context, among in zip(contexts, together, strict=True):
        (alone,) = unmask.predict(answerer_run.path, "the king ?", context)
        assert isinstance(alone, unmask.Answered) and isinstance(among, unmask.Answered)
        assert (alone.answer, alone.start) == (among.answer, among.start)
        assert alone.probability == pytest.approx(among.probability, abs=1e-6)
    assert np.all([each.windows for each in together] == np.array([1, together[1].windows]))  # type: ignore[union-attr]
    assert together[1].windows > 1  # type: ignore[union-attr]


def test_bad_lines_are_told_and_the_others_answered(
    answerer_run: unmask.Tuned, tmp_path: Path, inside: Callable[..., Any]
) -> None:
    context = "of course nobody likes music again ."
    lines = [
        {"question": "the dog ?", "context": context},
        {"question": "the " * 50, "context": context},
        {"question": "the dog ?"},
        {"question": "the dog ?", "context": " "},
        {"question": "the king ?", "context": context},
    ]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = inside("predict", answerer_run.path, tmp_path / "x.jsonl", "--json")
    assert done.returncode == 3 and len(done.stdout.splitlines()) == 2
    assert "line 2: the question has 50 tokens, and rows of 64 have room for 45" in done.stderr
    assert "line 3: no field 'context'" in done.stderr and "line 4: the field 'context' is empty" in done.stderr
    (tmp_path / "squad.json").write_text("{}")
    with pytest.raises(BadInput, match=r"squad\.json: predict reads JSON lines with 'question' and 'context'"):
        unmask.predict(answerer_run.path, str(tmp_path / "squad.json"))
    with pytest.raises(BadInput, match="pairs of texts: give JSON lines with the fields 'question' and 'context'"):
        unmask.predict(answerer_run.path, "one text")


def test_a_changed_card_is_damage(answerer_run: unmask.Tuned, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(answerer_run.model, tmp_path / "model"))
    card = json.loads((copied / "task.json").read_text())
    card.pop("longest")
    (copied / "task.json").write_text(json.dumps(card))
    with pytest.raises(Damaged, match=r"task\.json: cannot be read"):
        read_answer_card(copied)
