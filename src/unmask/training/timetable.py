"""How far a run is at each step, also where its end is planned again on the way.

In: how many steps are planned, from which step on. Out: what step k stands for in a run of so many steps, and by that
everything that depends on how far the run is: learning rate, hidden rate, stages, validations.

A run of N steps goes from 0 at its first step to 1 at its last, by the same amount with each. A plan that is made
after s steps leaves those as they were, and shares what is left of the way out evenly among the steps from s to its
own last one: progress is piecewise linear in k and never jumps. Step k is a function of (data, settings, seed, k) and
of the plans made up to k; a run whose budget is steps, tokens or epochs has one plan, and there k stands for itself.

    plan 0: 8 steps     0    1/7    2/7    3/7  …
    after 2: 12 steps               2/7    2/7 + 5/7 · 1/9  …  1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Plan:
    """How many steps a run is to have, as planned when some of them were done."""

    step: int  # steps done by then: it holds from this one on
    steps: int  # of the whole run
    pace: float = 1.0  # steps of a run that had this length from the start, for each of its own

    def position(self, step: int) -> float:
        """Which step of a run that had this length from the start this one stands for."""
        last = self.steps - 1
        return last - (last - step) * self.pace


class Timetable:
    """The plans of a run, one after the other."""

    def __init__(self, steps: int) -> None:
        self.plans = [Plan(0, steps)]

    @property
    def steps(self) -> int:
        """Of the whole run, as it is planned now."""
        return self.plans[-1].steps

    def replan(self, step: int, steps: int) -> None:
        """Let the run have so many steps, now that some are done; one at least is left.

        >>> timetable = Timetable(8)
        >>> timetable.replan(2, 12)
        >>> [round(timetable.progress(step) * 7, 2) for step in (0, 1, 2, 3, 11)]
        [0.0, 1.0, 2.0, 2.56, 7.0]
        """
        if not self.plans[-1].step <= step < steps:
            raise ValueError(f"a plan of {steps} steps after step {step}")
        last = steps - 1
        pace = (last - self.progress(step) * last) / (last - step) if last > step else 1.0
        self.plans.append(Plan(step, steps, pace))

    def at(self, step: int) -> tuple[float, int]:
        """What a step stands for: a step of a run that had so many from the start, and how many."""
        plan = next(plan for plan in reversed(self.plans) if plan.step <= step)
        return plan.position(step), plan.steps

    def progress(self, step: int) -> float:
        """How far the run is at a step: 0 at the first, 1 at the last."""
        position, steps = self.at(step)
        return position / max(1, steps - 1)

    def done(self, step: int) -> float:
        """The share of the run that is done after so many steps.

        >>> Timetable(8).done(0), Timetable(8).done(2), Timetable(8).done(8)
        (0.0, 0.25, 1.0)
        """
        position, steps = self.at(max(0, step - 1))
        return (position + 1) / steps if step else 0.0

    def parts_done(self, step: int, parts: int) -> int:
        """How many of so many equal parts of the run are done after so many steps; never fewer than before.

        >>> [Timetable(8).parts_done(step, 4) for step in range(9)]
        [0, 0, 1, 1, 2, 2, 3, 3, 4]
        """
        count = 0
        ends = [after.step for _, after in pairwise(self.plans)]
        for plan, end in zip(self.plans, (*ends, step), strict=True):
            end = min(step, end)
            if plan.step < end or plan is self.plans[0]:
                position = plan.position(end - 1) + 1
                count = max(count, sum(round(plan.steps * part / parts) <= position for part in range(1, parts + 1)))
        return count

    @property
    def state(self) -> list[list[int]]:
        """The plans as a checkpoint keeps them: after how many steps, and how many they were to be."""
        return [[plan.step, plan.steps] for plan in self.plans]

    def restore(self, state: Iterable[Sequence[int]]) -> None:
        """Take up plans that were kept; `ValueError` or `TypeError` where they are none."""
        (begin, steps), *later = state
        if begin != 0 or not all(isinstance(number, int) for plan in later for number in (steps, *plan)):
            raise ValueError(f"plans are {[[begin, steps], *later]}")
        self.plans = [Plan(0, steps)]
        for after, count in later:
            self.replan(after, count)
