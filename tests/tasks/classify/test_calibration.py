"""Temperatures and thresholds are those that serve the held-out labels best."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from unmask.tasks.classify.calibration import (
    calibration_error,
    choose_thresholds,
    decide,
    fit_sets,
    fit_temperature,
    label_sets,
    macro_f1,
    probabilities_of,
)


def drawn(temperature: float, several: bool) -> tuple[np.ndarray, np.ndarray]:
    """Logits that are too sure by a factor, and labels that were drawn from the true probabilities."""
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(6000, 3)) * 2
    probabilities = probabilities_of(logits, several=several)
    if several:
        return logits * temperature, (draw.random(logits.shape) < probabilities).astype(float)
    chosen = (probabilities.cumsum(1) < draw.random((len(logits), 1))).sum(1)
    return logits * temperature, np.eye(3)[chosen]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_is_found_that_made_a_model_too_sure(temperature: float, several: bool) -> None:
    logits, targets = drawn(temperature, several)
    found = fit_temperature(logits, targets, several=several)
    assert found == pytest.approx(temperature, rel=0.06)
    if not several:
        before, after = (probabilities_of(logits, several=False, temperature=t) for t in (1.0, found))
        assert calibration_error(after, targets > 0) < 0.02
        assert temperature == 1.0 or calibration_error(before, targets > 0) > 0.05


def test_thresholds_raise_the_f1_of_rare_labels() -> None:
    draw = np.random.default_rng(0)
    targets = (draw.random((4000, 2)) < (0.5, 0.05)).astype(float)
    probabilities = np.clip(targets * (0.3, 0.2) + draw.random((4000, 2)) * (0.6, 0.2), 0, 1)
    thresholds = choose_thresholds(probabilities, targets)
    assert macro_f1(decide(probabilities, thresholds), targets > 0) > macro_f1(probabilities > 0.5, targets > 0) + 0.3


def test_macro_f1_is_scikit_learns() -> None:
    draw = np.random.default_rng(0)
    true, said = draw.integers(4, size=(2, 300))
    assert macro_f1(np.eye(4)[said] > 0, np.eye(4)[true] > 0) == pytest.approx(f1_score(true, said, average="macro"))


def test_sets_have_the_true_label_for_as_many_unseen_texts_as_they_promise() -> None:
    draw = np.random.default_rng(0)
    coverages = []
    for _ in range(60):
        probabilities = draw.dirichlet(np.full(5, 0.6), size=1_200)
        labels = np.array([draw.choice(5, p=(row + 0.15) / 1.75) for row in probabilities])  # less sure than it says
        targets = np.eye(5)[labels]
        least = fit_sets(probabilities[:400], targets[:400], 0.9)
        sets = label_sets(probabilities[400:], least)
        coverages.append((sets & (targets[400:] > 0)).any(1).mean())
    assert 0.89 < np.mean(coverages) < 0.915


def test_too_few_held_out_texts_rule_nothing_out_and_a_set_is_never_empty() -> None:
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert fit_sets(probabilities, np.eye(2), 0.9) == 0.0
    assert label_sets(probabilities, 0.95).tolist() == [[True, False], [False, True]]


def test_where_all_is_right_nothing_is_made_surer() -> None:
    targets = np.eye(2)[[0, 1, 0]]
    assert fit_temperature(targets * 3.0, targets, several=False) == 1.0
    assert fit_temperature(targets * 6.0 - 3.0, targets, several=True) == 1.0
