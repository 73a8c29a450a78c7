"""Figures of labels are scikit-learn's, with intervals that know groups; baselines learn what can be learnt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from unmask.evaluation.tuned.baselines import LabelledArrays, baseline_decisions, majority
from unmask.evaluation.tuned.classify import (
    clusters_of,
    confusions_of,
    doubtful_labels,
    judge_labels,
    label_figures,
    surest_errors,
)
from unmask.tasks.classify.classifier import targets_of
from unmask.tasks.classify.labelled import FieldNames, LabelledExamples, LabelledText

LABELS = ("a", "b", "c")


def drawn(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    true = draw.integers(3, size=count)
    return true, np.where(draw.random(count) < 0.7, true, draw.integers(3, size=count))


def test_figures_are_those_of_scikit_learn_and_lie_in_their_intervals() -> None:
    true, said = drawn()
    accuracy, macro = label_figures(np.eye(3)[said] > 0, np.eye(3)[true] > 0, np.arange(400))
    precision, recall, f1, support = precision_recall_fscore_support(true, said)
    assert accuracy.value == pytest.approx(accuracy_score(true, said)) and macro.value == pytest.approx(f1.mean())
    for figure in (accuracy, macro):
        assert figure.low < figure.value < figure.high and 0.06 < figure.high - figure.low < 0.12
    rows = judge_labels(LABELS, np.eye(3)[said] > 0, np.eye(3)[true] > 0)
    assert [row.f1 for row in rows] == pytest.approx(f1.tolist())
    assert [row.precision for row in rows] == pytest.approx(precision.tolist())
    assert [row.recall for row in rows] == pytest.approx(recall.tolist())
    assert [row.examples for row in rows] == support.tolist()


@pytest.mark.parametrize("right", [True, False])
def test_a_macro_f1_lies_in_its_interval_where_samples_lack_a_label(right: bool) -> None:
    labels = np.array([*range(1, 12), *[0] * 11])  # eleven that occur once
    said = labels if right else np.where(labels > 0, labels % 11 + 1, 0)
    _, macro = label_figures(np.eye(12)[said] > 0, np.eye(12)[labels] > 0, np.arange(22))
    assert macro.low <= macro.value <= macro.high and macro.value == pytest.approx(1.0 if right else 1 / 12)


def test_intervals_are_wider_where_texts_come_in_groups() -> None:
    true, said = (np.repeat(each[:80], 5) for each in drawn())
    flags = np.eye(3)[said] > 0, np.eye(3)[true] > 0
    alone, grouped = (label_figures(*flags, clusters)[0] for clusters in (np.arange(400), np.repeat(np.arange(80), 5)))
    assert grouped.value == alone.value and grouped.high - grouped.low > 1.5 * (alone.high - alone.low)
    texts = [LabelledText(n, "x", None, ("a",), group) for n, group in enumerate(("g", None, "g", None))]
    assert len(set(clusters_of(texts).tolist())) == 3


def test_confusions_are_counted_and_the_surest_errors_come_first() -> None:
    true, said = np.eye(3)[[0, 0, 1, 2]] > 0, np.eye(3)[[0, 1, 0, 0]] > 0
    pairs = [(each.true, each.said, each.count) for each in confusions_of(LABELS, said, true)]
    assert pairs == [("a", "a", 1), ("a", "b", 1), ("b", "a", 1), ("c", "a", 1)]
    texts = [LabelledText(n + 1, f"text {n}", None, (LABELS[int(row.argmax())],)) for n, row in enumerate(true)]
    shares = np.array([[0.9, 0.1, 0], [0.3, 0.6, 0.1], [0.8, 0.1, 0.1], [0.7, 0.2, 0.1]])
    errors = surest_errors(LABELS, texts, shares, said, true, several=False)
    assert [(error.line, error.true, error.said) for error in errors] == [
        (3, ("b",), ("a",)),
        (4, ("c",), ("a",)),
        (2, ("a",), ("b",)),
    ]


def labelled(texts: list[tuple[str, str]], pair: str | None = None) -> LabelledArrays:
    rows = tuple(LabelledText(n + 1, text, pair, (label,)) for n, (text, label) in enumerate(texts))
    names = FieldNames("text", "other" if pair else None, "label")
    examples = LabelledExamples(Path("x.jsonl"), names, rows, several=False)
    return LabelledArrays(examples, targets_of([row.labels for row in rows], ("a", "b")))


@pytest.mark.parametrize("pair", [None, "the moon"])
def test_baselines_learn_what_a_word_decides(pair: str | None, make_model: Callable[..., Path]) -> None:
    words = {"a": ("cat", "dog"), "b": ("river", "garden")}
    draw = np.random.default_rng(0)
    texts = [(f"the king sees the {draw.choice(words[label])} again", label) for label in "aaab" * 30]
    train, test = labelled(texts[:80], pair), labelled(texts[80:], pair)
    said = baseline_decisions(make_model(), train, test, test, several=False)
    right = {name: float((flags == (test.targets > 0)).all(1).mean()) for name, flags in said.items()}
    assert right["majority"] == 0.75 and right["TF-IDF"] == 1.0 and right["frozen vectors"] > 0.9


def test_the_majority_of_several_labels_is_what_most_texts_have() -> None:
    targets = np.array([[1, 0], [1, 0], [1, 1], [0, 1.0]])
    assert majority(targets, several=True).tolist() == [True, False]
    assert majority(targets, several=False).tolist() == [True, False]


def test_planted_label_errors_are_doubted_and_right_labels_are_not() -> None:
    draw = np.random.default_rng(0)
    own = draw.integers(0, 3, 300)
    probabilities = np.full((300, 3), 0.05)
    probabilities[np.arange(300), own] = 0.9
    wrong = set(draw.choice(300, 20, replace=False).tolist())
    labels = np.array([(label + 1) % 3 if n in wrong else label for n, label in enumerate(own)])
    examples = [LabelledText(n + 1, f"text {n}", None, ("abc"[label],)) for n, label in enumerate(labels)]
    found = doubtful_labels("abc", examples, probabilities, np.eye(3)[labels] > 0)
    assert {error.line - 1 for error in found} == wrong
    assert all(error.said == ("abc"[own[error.line - 1]],) for error in found)


def test_a_model_that_knows_little_doubts_no_label() -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, 300)
    likes = np.where(draw.random(300) < 0.65, labels, 1 - labels)  # right about two of three, and that sure of it
    probabilities = np.full((300, 2), 0.35)
    probabilities[np.arange(300), likes] = 0.65
    examples = [LabelledText(n + 1, f"text {n}", None, ("ab"[label],)) for n, label in enumerate(labels)]
    assert doubtful_labels("ab", examples, probabilities, np.eye(2)[labels] > 0) == []
