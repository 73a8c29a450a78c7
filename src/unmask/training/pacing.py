"""A budget in minutes, kept: the number of steps is planned again on the way, from what steps really take.

In: how long a run may take, and a clock. Out: how many steps it is to have, at stated moments of its time or of its
way, whichever comes first; `training.timetable` says what that means for each step.

What counts is all that a run does from its start: loading, timing a few steps, steps, validations, checkpoints and
reports, and in the end the measurement on everything that is held out. Writing the model and the last report comes
after, and what the run does before it goes on again after a stop is part of the pause: neither counts, and nor do
steps that were lost when a process was killed, which are taken again.

At a moment, a step is taken to last what steps lasted since the last plan, with their share of what is neither step nor
validation. A validation and the end are reckoned in steps, by what both lasted on average in the whole run: a machine
that has become slower is slower in them too, and the end, which may last as long as many validations, does not hang on
how long the last one happened to take.
What was spent is kept in checkpoints: a run that goes on plans as if it had not been stopped.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from unmask.training.timetable import Timetable

VALIDATIONS = 11  # over a run: before the first step, after the last, and nine between
PARTS = VALIDATIONS - 1  # of a run, each of which ends with one
# shares of the minutes, or of the way: a machine may become twice as slow right after the last without being 5 % late
MOMENTS = (0.01, 0.02, 0.05, *(tenth / 10 for tenth in range(1, 9)), 0.85, 0.9, 0.92, 0.94, 0.96, 0.97, 0.98, 0.99)

KEPT = ("plans", "spent", "ending")  # in a checkpoint

Clock = Callable[[], float]


@dataclass(kw_only=True)
class Spent:
    """Where the time of a run went, in seconds, and what its steps last just now: what a checkpoint keeps of it."""

    starting: float = 0.0  # before the first step
    stepping: float = 0.0
    steps: int = 0
    validating: float = 0.0
    validations: int = 0
    besides: float = 0.0  # on checkpoints, reports and logs
    recent_steps: int = 0  # since the last plan
    recent_seconds: float = 0.0  # that they lasted
    moments: int = 0  # that are past

    @property
    def seconds(self) -> float:
        """In all."""
        return self.starting + self.stepping + self.validating + self.besides

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Spent:
        """What `dataclasses.asdict` described; `ValueError` or `TypeError` where it is none."""
        for name, value in state.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not isfinite(value) or value < 0:
                raise ValueError(f"spent.{name} is {value!r}")
        return cls(**state)


class Pacer:
    """Watches the clock of a run, and plans its steps again where it has so many seconds; else it does nothing."""

    def __init__(self, timetable: Timetable, seconds: float | None = None, clock: Clock = time.perf_counter) -> None:
        self.timetable, self.seconds, self.clock = timetable, seconds, clock
        self.spent = Spent()
        self.ending: str | None = None  # why the run comes to its end before its budget does
        self.mark = clock()

    def begin(self, seconds: float | None = None) -> None:
        """Count from now on, so many seconds after the start of the run or, going on with one, after what it spent."""
        self.mark = self.clock()
        if seconds is not None:
            self.spent = Spent(starting=seconds)

    def end_step(self) -> None:
        """A step is done."""
        seconds = self._lap()
        self.spent.stepping += seconds
        self.spent.steps += 1
        self.spent.recent_seconds += seconds
        self.spent.recent_steps += 1

    def end_validation(self) -> None:
        """A validation is done."""
        self.spent.validating += self._lap()
        self.spent.validations += 1

    def end_rest(self) -> None:
        """What lies between a step and the next is done."""
        self.spent.besides += self._lap()

    def _lap(self) -> float:
        before, self.mark = self.mark, self.clock()
        return self.mark - before

    def plan(self, step: int, end: float) -> int | None:
        """How many steps the run is to have, if this is a moment to say so: some are done, more than one is to come.

        The measurement in the end lasts as long as `end` validations.
        """
        spent, timetable = self.spent, self.timetable
        if self.seconds is None or self.ending or not 0 < step < timetable.steps - 1:
            return None
        moments = bisect_right(MOMENTS, max(spent.seconds / self.seconds, timetable.done(step)))
        if moments <= spent.moments or not spent.recent_seconds:
            return None
        spent.moments = moments
        a_step = spent.recent_seconds / spent.recent_steps
        validations = PARTS - timetable.parts_done(step, PARTS) + end
        measuring = validations * spent.validating / max(1, spent.validations) * spent.steps / spent.stepping
        besides = 1 + spent.besides / spent.stepping
        return step + max(1, round((self.seconds - spent.seconds) / a_step / besides - measuring))

    def adopt(self, step: int, steps: int) -> None:
        """Let a plan hold from this step on."""
        self.timetable.replan(step, steps)
        self.spent.recent_steps, self.spent.recent_seconds = 0, 0.0

    def end(self, step: int, steps: int, why: str) -> None:
        """Let the run come to its end after so many steps; nothing is planned again after that."""
        self.adopt(step, steps)
        self.ending = why

    @property
    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of it; nothing where nothing is planned again."""
        spent = {} if self.seconds is None else {"plans": self.timetable.state, "spent": asdict(self.spent)}
        return {**spent, "plans": self.timetable.state, "ending": self.ending} if self.ending else spent

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what was kept; a run that was begun before plans were has spent what its steps lasted."""
        if "plans" in state:
            self.timetable.restore(state["plans"])
        self.ending = state.get("ending")
        if self.seconds is not None:
            self.spent = Spent.of(state.get("spent", {"stepping": state["seconds"], "steps": state["step"]}))
