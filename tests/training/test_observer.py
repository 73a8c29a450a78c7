"""What is said and logged of a step; that it is saved, validated and stopped is held by the tests of runs."""

from __future__ import annotations

from regression import job

from unmask.training.observer import brief_figures, prefixed_figures


def test_figures_that_are_not_finite_are_neither_logged_nor_said() -> None:
    figures = {"r2": float("nan"), "loss": 0.25, "other": float("inf")}
    assert prefixed_figures(figures, "validation_") == {"validation_loss": 0.25}
    assert brief_figures(figures, job()) == "0.25" and brief_figures({**figures, "r2": 0.5}, job()) == "50%, 0.25"
