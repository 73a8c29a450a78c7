"""How far a run is: as it was where one plan holds, and without a jump where the end is planned again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.training.optimizer import Optimizing
from unmask.training.timetable import Timetable

STEPS = st.integers(1, 3000)


@given(STEPS)
def test_a_run_of_one_plan_is_what_its_steps_are(steps: int) -> None:
    timetable = Timetable(steps)
    numbers = range(0, steps, max(1, steps // 50))
    assert [timetable.at(step) for step in numbers] == [(step, steps) for step in numbers]
    assert [timetable.progress(step) for step in numbers] == [step / max(1, steps - 1) for step in numbers]
    tenths = {round(steps * tenth / 10) for tenth in range(1, 11)} - {0}
    done = [timetable.parts_done(step, 10) for step in range(steps + 1)]
    assert {step for step in range(1, steps + 1) if done[step] > done[step - 1]} == tenths
    assert done[-1] == 10 and timetable.done(0) == 0 and timetable.done(steps) == 1


@st.composite
def timetables(draw: st.DrawFn) -> Timetable:
    """A run whose end is planned again and again, each time at up to three times or a third of what was left."""
    timetable, step = Timetable(draw(st.integers(20, 2000))), 0
    for _ in range(draw(st.integers(1, 8))):
        left = timetable.steps - step
        if left < 4:
            break
        step += draw(st.integers(1, left - 2))
        left = timetable.steps - step
        timetable.replan(step, step + draw(st.integers(max(1, left // 3), 3 * left)))
    return timetable


@settings(deadline=None)
@given(timetables())
def test_planning_again_leaves_what_is_done_as_it_was_and_never_jumps(timetable: Timetable) -> None:
    steps = timetable.steps
    way = [timetable.progress(step) for step in range(steps)]
    assert way[0] == 0 and way[-1] == 1 and all(before <= after for before, after in pairwise(way))
    earlier = Timetable(1)
    for number, (plan, after) in enumerate(pairwise(timetable.plans), start=1):
        earlier.restore(timetable.state[:number])
        before = range(after.step)
        assert [timetable.at(step) for step in before] == [earlier.at(step) for step in before]
        if after.steps - 1 > after.step:  # where more than one step is left, the new plan begins where the old one was
            assert after.position(after.step) / (after.steps - 1) == pytest.approx(
                plan.position(after.step) / (plan.steps - 1), abs=1e-9
            )
    done = [timetable.parts_done(step, 10) for step in range(steps + 1)]
    assert done == sorted(done) and done[-1] == 10


@settings(deadline=None)
@given(timetables())
def test_the_learning_rate_rises_stays_and_ends_where_that_of_a_whole_run_ends(timetable: Timetable) -> None:
    schedule = Optimizing(warmup=0.05, decay=0.25)
    factors = [schedule.lr_factor(*timetable.at(step)) for step in range(timetable.steps)]
    assert all(0 < factor <= 1 for factor in factors)
    assert factors[-1] == schedule.lr_factor(timetable.steps - 1, timetable.steps)
    for step, factor in enumerate(factors):
        _, steps = timetable.at(step)
        if 0.05 + 1 / steps < timetable.progress(step) < 0.75 - 2 / steps:
            assert factor == 1


def test_what_was_planned_comes_back_from_what_a_checkpoint_keeps() -> None:
    timetable = Timetable(10)
    timetable.replan(3, 40)
    timetable.replan(20, 21)
    again = Timetable(7)
    again.restore(timetable.state)
    assert again.plans == timetable.plans and again.state == [[0, 10], [3, 40], [20, 21]]
    assert again.progress(20) == 1.0


@pytest.mark.parametrize("state", [[], [[1, 5]], [[0, 5], [5, 5]], [[0, 5], [2, "7"]], [[0, 9], [4, 9], [3, 8]], [[0]]])
def test_what_is_no_timetable_is_refused(state: list[list[int]]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Timetable(5).restore(state)
