"""The best stretch and its probability, and the best threshold, against everything written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from unmask.tasks.answer.choosing import (
    best_threshold,
    calibrated_probability,
    choose_span,
    fit_answer_temperature,
)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("longest", [1, 3, 99])
def test_the_best_stretch_is_that_of_all_stretches(seed: int, longest: int) -> None:
    draw = np.random.default_rng(seed)
    begins, ends = log_softmax(draw.normal(size=9) * 2), log_softmax(draw.normal(size=9) * 2)
    begins, ends, none = begins[1:], ends[1:], (begins[0], ends[0])
    every = {(i, j): np.exp(begins[i] + ends[j]) for i in range(8) for j in range(i, min(8, i + longest))}
    total = sum(every.values()) + np.exp(sum(none))
    choice = choose_span(begins, ends, none, longest)
    assert (choice.first, choice.last) == max(every, key=lambda span: every[span])
    assert np.exp(choice.best) == pytest.approx(max(every.values()) / total)
    assert np.exp(choice.none) == pytest.approx(np.exp(sum(none)) / total)
    always = choose_span(begins, ends, None, longest)
    assert (always.first, always.last) == (choice.first, choice.last) and np.exp(always.none) == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_the_threshold_is_the_best_of_all(seed: int) -> None:
    draw = np.random.default_rng(seed)
    odds, none = draw.normal(size=30), draw.integers(2, size=30).astype(float)
    answered = np.where(none > 0, 0.0, draw.random(30))

    def score(threshold: float) -> float:
        return float(np.where(odds <= threshold, answered, none).mean())

    best = max(score(threshold) for threshold in [-99.0, 99.0, *(odds + 1e-9)])
    assert score(best_threshold(odds, answered, none)) == pytest.approx(best)


def test_the_temperature_makes_answers_as_likely_right_as_they_are() -> None:
    draw = np.random.default_rng(0)
    true_odds = draw.normal(0.5, 1.5, 20_000)
    right = (draw.random(20_000) < 1 / (1 + np.exp(-true_odds))).astype(float)
    too_sure = np.log(1 / (1 + np.exp(-3 * true_odds)))
    temperature = fit_answer_temperature(too_sure, right)
    assert temperature == pytest.approx(3.0, rel=0.05)
    said = np.array([calibrated_probability(float(each), temperature) for each in too_sure[:200]])
    assert np.abs(said - 1 / (1 + np.exp(-true_odds[:200]))).max() < 0.02
    assert fit_answer_temperature(too_sure, np.ones_like(right)) == 1.0
    assert 0 <= calibrated_probability(-1e30, 1.0) < 1e-9 and calibrated_probability(0.0, 1.0) <= 1
