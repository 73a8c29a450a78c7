"""How long to train: steps, tokens, epochs or minutes, all of which become steps.

In: a budget. Out: a number of steps before the first of them, so that the schedule ends with the budget. Minutes are a
guess at that time, from a few steps, and are planned again on the way (`training.pacing`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf

from unmask.errors import BadInput, MissingOption
from unmask.progress import task
from unmask.training.job import Job
from unmask.training.machine.distributed import ALONE, World
from unmask.training.pacing import VALIDATIONS, Clock
from unmask.training.session import USUAL_SAMPLE, Session
from unmask.training.step import StepOptions, take_step

CALIBRATION_SHARE = 0.01  # of the minutes are spent on finding out how long a step takes
CALIBRATION_STEPS = (4, 40)  # at the least and at the most
HOW_LONG = "how long? give --minutes, --steps, --tokens or --epochs"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long to train: one of the four."""

    minutes: float | None = None
    steps: int | None = None
    tokens: int | None = None
    epochs: float | None = None

    def __post_init__(self) -> None:
        budgets = {name: value for name, value in asdict(self).items() if value is not None}
        if len(budgets) > 1:
            raise BadInput(f"one budget is enough, not {' and '.join('--' + name for name in budgets)}")
        for name, value in budgets.items():
            if not 0 < value < inf:
                raise BadInput(f"--{name} {value}: give a number above 0")

    @property
    def is_set(self) -> bool:
        """Whether there is one."""
        return any(value is not None for value in asdict(self).values())


def steps_for(
    budget: Budget,
    job: Job,
    trial: Callable[[], Session],
    start: float,
    world: World = ALONE,
    clock: Clock = time.perf_counter,
) -> int:
    """How many steps a budget buys; minutes are counted from `start` and measured on a trial that is thrown away."""
    if budget.steps is not None:
        return budget.steps
    if budget.tokens is not None:
        return max(1, round(budget.tokens / job.tokens_a_step))
    if budget.epochs is not None:
        return max(1, round(budget.epochs * job.steps_an_epoch))
    if budget.minutes is None:
        raise MissingOption(HOW_LONG)
    seconds = budget.minutes * 60
    session = trial()
    a_step = seconds_a_step(session, CALIBRATION_SHARE * seconds, world, clock)
    a_token = seconds_a_validated_token(session, world, clock)
    remaining = seconds - (clock() - start) - a_token * session.validation.tokens
    # each step brings its share of the validations with it
    sample = job.sample or USUAL_SAMPLE
    steps = int(remaining / (a_step + a_token * VALIDATIONS * sample.share * job.tokens_a_step))
    return world.agree(max(1, steps))


def seconds_a_step(session: Session, seconds: float, world: World = ALONE, clock: Clock = time.perf_counter) -> float:
    """What steps last on average: each stage by a few steps from its middle, where as much is hidden as on average."""
    session.learner.train()
    stages = list(pairwise((0.0, *session.job.stage_ends)))
    with task("Calibrating") as progress:
        return sum(
            (end - begin) * _median_step(session, (begin + end) / 2, seconds / len(stages), progress, world, clock)
            for begin, end in stages
        )


def _median_step(
    session: Session, share: float, seconds: float, progress: Callable[..., None], world: World, clock: Clock
) -> float:
    """The median of a few steps after a share of the run; two warm up."""
    first = int(session.steps * share)
    fewest, most = CALIBRATION_STEPS
    options = StepOptions(precision=session.precision)
    times: list[float] = []
    start = clock()
    while world.agree(len(times) < fewest or (clock() - start < seconds and len(times) < most)):
        before = clock()
        step = first + len(times)
        take_step(session.learner, session.optimizer, session.source, step=step, world=world, options=options)
        times.append(clock() - before)
        progress(1, note=f"{times[-1]:.2f} s a step")
    return statistics.median(times[2:])


def seconds_a_validated_token(session: Session, world: World = ALONE, clock: Clock = time.perf_counter) -> float:
    """What measuring on what is held out takes."""
    start = clock()
    tokens = min(USUAL_SAMPLE.fewest, session.validation.tokens)
    session.measure(tokens, world)
    return (clock() - start) / max(1, tokens)
