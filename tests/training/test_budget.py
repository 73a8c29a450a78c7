"""Steps, tokens, epochs and minutes: all of them become steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from regression import ROWS, Rows, job

from unmask.errors import BadInput
from unmask.training.budget import Budget, seconds_a_step, steps_for
from unmask.training.job import PlannedBatch
from unmask.training.session import Session


def no_trial() -> Session:
    raise AssertionError("nothing to calibrate")


@pytest.mark.parametrize(
    ("budget", "steps"),
    [
        (Budget(steps=7), 7),
        (Budget(tokens=5 * ROWS), 5),
        (Budget(tokens=5 * ROWS + ROWS // 2 + 1), 6),
        (Budget(tokens=1), 1),
        (Budget(epochs=3), 3 * 600 // ROWS),
        (Budget(epochs=0.001), 1),
    ],
    ids=str,
)
def test_what_can_be_counted_is_not_measured(budget: Budget, steps: int) -> None:
    assert steps_for(budget, job(), no_trial, 0.0) == steps


def test_minutes_buy_the_steps_that_fit_into_them() -> None:
    ticks = iter(range(10**9))

    def clock() -> float:  # by which everything takes half a second
        return 0.5 * next(ticks)

    def steps_in(minutes: float) -> int:
        return steps_for(Budget(minutes=minutes), job(), lambda: Session.begin(job(), 1000), clock(), clock=clock)

    one, ten = steps_in(1), steps_in(10)
    assert 60 < one < 120  # at most one for each half second, less what calibration and validation take
    assert 9 * one < ten < 1200
    assert steps_in(1e-9) == 1


@pytest.mark.parametrize(
    ("budget", "line"),
    [
        ({"steps": 0}, "--steps 0: give a number above 0"),
        ({"minutes": -1}, "--minutes -1: give a number above 0"),
        ({"epochs": float("nan")}, "--epochs nan: give a number above 0"),
        ({"steps": 1, "tokens": 5}, "one budget is enough, not --steps and --tokens"),
    ],
)
def test_what_is_no_budget_is_one_clear_line(budget: dict[str, Any], line: str) -> None:
    with pytest.raises(BadInput) as told:
        Budget(**budget)
    assert str(told.value) == line
    assert not Budget().is_set and Budget(steps=1).is_set


def test_a_step_lasts_on_average_what_the_steps_of_each_stage_last() -> None:
    seconds = [0.0]

    class Slower(Rows):
        """Rows whose steps are planned twice, in a second each, and from nine tenths of the run on in four."""

        def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
            seconds[0] += 1 if step < 900 else 4
            return super().plan_step(step, indices)

    staged = replace(job(), source=Slower, stage_ends=(0.9, 1.0))
    average = seconds_a_step(Session.begin(staged, 1000), 0.0, clock=lambda: seconds[0])
    assert average == pytest.approx(0.9 * 2 + 0.1 * 8)
