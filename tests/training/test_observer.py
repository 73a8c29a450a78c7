"""What is said and logged of a step; that it is saved, validated and stopped is held by the tests of runs."""

from __future__ import annotations

from pathlib import Path

from regression import job

from unmask.runs.moments import kept_moments
from unmask.training.budget import Budget
from unmask.training.checkpoint import load, load_weights
from unmask.training.observer import Saving, brief_figures, prefixed_figures
from unmask.training.run_job import run_job


def test_figures_that_are_not_finite_are_neither_logged_nor_said() -> None:
    figures = {"r2": float("nan"), "loss": 0.25, "other": float("inf")}
    assert prefixed_figures(figures, "validation_") == {"validation_loss": 0.25}
    assert brief_figures(figures, job()) == "loss 0.25"
    assert brief_figures({**figures, "r2": 0.5}, job()) == "r2 50%, loss 0.25"


def test_moments_are_the_weights_of_the_start_and_of_each_tenth(tmp_path: Path) -> None:
    run_job(job(), tmp_path / "run", Budget(steps=20), saving=Saving(report=False, moments=True))
    moments = kept_moments(tmp_path / "run")
    assert [moment.step for moment in moments] == [*range(0, 21, 2)]
    first, last = (load_weights(moment.folder) for moment in (moments[0], moments[-1]))
    newest = load(tmp_path / "run" / "checkpoints" / "step-0000020").model
    assert all((last[name] == newest[name]).all() for name in newest) and newest.keys() == last.keys()
    assert any((first[name] != last[name]).any() for name in last)
