"""Exact match and F1 are those of SQuAD's own evaluation, whose functions stand here as they were published."""

from __future__ import annotations

import collections
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.tasks.answer.official import exact_match, normalised, word_f1

WORDS = st.lists(st.sampled_from(["the", "a", "An", "cat", "Cat.", "dog's", "dogs", "—", "...", " "]), max_size=6)
TEXTS = WORDS.map(" ".join)


def normalize_answer(s: str) -> str:
    """As in evaluate-v2.0.py."""

    def remove_articles(text: str) -> str:
        return re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", text)

    exclude = set(string.punctuation)
    lowered = "".join(ch for ch in s.lower() if ch not in exclude)
    return " ".join(remove_articles(lowered).split())


def compute_f1(a_gold: str, a_pred: str) -> float:
    """As in evaluate-v2.0.py."""
    gold_toks, pred_toks = normalize_answer(a_gold).split(), normalize_answer(a_pred).split()
    common = collections.Counter(gold_toks) & collections.Counter(pred_toks)
    num_same = sum(common.values())
    if len(gold_toks) == 0 or len(pred_toks) == 0:
        return int(gold_toks == pred_toks)
    if num_same == 0:
        return 0
    precision, recall = 1.0 * num_same / len(pred_toks), 1.0 * num_same / len(gold_toks)
    return (2 * precision * recall) / (precision + recall)


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_scores_are_those_of_the_published_evaluation(said: str, answers: list[str]) -> None:
    golds = [answer for answer in answers if normalize_answer(answer)] or [""]
    assert normalised(said) == normalize_answer(said)
    assert word_f1(said, answers) == pytest.approx(max(compute_f1(gold, said) for gold in golds))
    assert exact_match(said, answers) == max(int(normalize_answer(gold) == normalize_answer(said)) for gold in golds)


@pytest.mark.parametrize(
    ("said", "answers", "exact", "f1"),
    [
        ("The Eiffel Tower!", ["eiffel tower"], 1.0, 1.0),
        ("in Paris", ["Paris", "France"], 0.0, 2 / 3),
        ("", [], 1.0, 1.0),
        ("Paris", [], 0.0, 0.0),
        ("", ["Paris"], 0.0, 0.0),
        ("1,000", ["1000"], 1.0, 1.0),
    ],
)
def test_known_cases(said: str, answers: list[str], exact: float, f1: float) -> None:
    assert (exact_match(said, answers), word_f1(said, answers)) == (exact, pytest.approx(f1))
