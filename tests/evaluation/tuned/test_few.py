"""Figures of few labels are means over draws, with intervals by how far draws differ."""

from __future__ import annotations

import pytest
from scipy.stats import t

from unmask.evaluation.tuned.few import summed_up
from unmask.results import FewDraw


def draw(number: int, accuracy: float | None) -> FewDraw:
    return FewDraw(draw=number, dev=0.5 + number / 10, dev_loss=0.6, accuracy=accuracy, macro_f1=accuracy, seconds=1.0)


def test_the_interval_is_student_s_over_draws() -> None:
    values = [0.6, 0.7, 0.65, 0.72, 0.58]
    method = summed_up("head", [draw(n, value) for n, value in enumerate(values)])
    mean, deviation = sum(values) / 5, (sum((v - sum(values) / 5) ** 2 for v in values) / 4) ** 0.5
    assert method.accuracy is not None and method.deviation == pytest.approx(deviation)
    half = t.ppf(0.975, 4) * deviation / 5**0.5
    assert (method.accuracy.value, method.accuracy.low, method.accuracy.high) == pytest.approx(
        (mean, mean - half, mean + half)
    )
    assert method.dev == pytest.approx(0.7)


def test_without_test_texts_there_are_no_test_figures() -> None:
    method = summed_up("pairs", [draw(1, None), draw(2, None)])
    assert method.accuracy is method.macro_f1 is method.deviation is None and method.dev == pytest.approx(0.65)
