"""Which family reaches the lower held-out loss in the same time? The answer is the default of `--recipe`.

    python benchmarks/families.py data --size mini --minutes 5

The loss is a function of the step, and the time of a step is measured with the families taking turns, so that a busy
machine slows both alike. Each family then trains for the steps that fit into the minutes.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import sides
import tyro

from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training import loop
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.distributed import ALONE
from unmask.training.session import Session
from unmask.training.step import take_step

COMPARED = ("bert", "modernbert")


@dataclass(frozen=True)
class Outcome:
    family: str
    seconds_a_step: float
    spread: tuple[float, float]
    steps: int
    loss: float
    accuracy: float


def step_times(works: dict[str, Session], rounds: int) -> dict[str, list[float]]:
    """Seconds of a step, families taking turns; the first two rounds warm up."""
    times: dict[str, list[float]] = {family: [] for family in works}
    for number in range(rounds + 2):
        for family, work in works.items():
            work.learner.train()
            begun = time.perf_counter()
            take_step(work.learner, work.optimizer, work.source, step=number)
            if number >= 2:
                times[family].append(time.perf_counter() - begun)
    return times


def train(work: Session) -> dict[str, float]:
    nothing = lambda _position, _figures: None  # noqa: E731
    loop.train(work.learner, work.optimizer, work.source, position=loop.Position(), after_step=nothing)
    return work.measure(None, ALONE)


def main(data: Path, /, size: str = "mini", minutes: float = 5, rounds: int = 20, seed: int = 0) -> None:
    keep_large_blocks()
    dataset = Dataset.open(data)
    plans = {family: recipe_named(f"{family}-{size}") for family in COMPARED}
    works = {family: sides.session_of(dataset, plan, 1000, seed=seed) for family, plan in plans.items()}
    times = step_times(works, rounds)
    for family, plan in plans.items():
        median = statistics.median(times[family])
        work = sides.session_of(dataset, plan, max(1, int(minutes * 60 / median)), seed=seed)
        measured = train(work)
        spread = (min(times[family]), max(times[family]))
        outcome = Outcome(family, median, spread, work.steps, measured["loss"], measured["accuracy"])
        print(json.dumps(outcome.__dict__), flush=True)


if __name__ == "__main__":
    tyro.cli(main)
