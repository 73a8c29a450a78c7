from __future__ import annotations

import numpy as np
import pytest

from unmask.evaluation.calibration import measure_calibration


def test_the_error_is_the_mean_distance_of_confidence_and_accuracy_over_bins() -> None:
    confidences = np.array([0.95, 0.91, 0.99, 0.15, 0.15, 1.0])
    right = np.array([True, False, True, False, False, True])
    result = measure_calibration(confidences, right, np.arange(6))
    assert [(each.low, each.blanks, each.accuracy) for each in result.bins] == [(0.1, 2, 0.0), (0.9, 4, 0.75)]
    expected = 2 / 6 * 0.15 + 4 / 6 * abs(0.75 - np.mean([0.95, 0.91, 0.99, 1.0]))
    assert result.error.value == pytest.approx(expected)
    assert result.blanks == 6 and result.confidence == pytest.approx(confidences.mean())


def test_a_model_that_is_as_sure_as_it_is_right_has_almost_no_error_and_one_too_sure_has() -> None:
    draw = np.random.default_rng(0)
    confidences = draw.random(20_000)
    right = draw.random(20_000) < confidences
    documents = np.arange(20_000) // 100
    assert measure_calibration(confidences, right, documents).error.value < 0.02
    too_sure = measure_calibration(np.sqrt(confidences), right, documents).error
    assert 0.1 < too_sure.low < too_sure.value < too_sure.high < 0.25
