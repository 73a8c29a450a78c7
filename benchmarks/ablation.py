"""Where the factor comes from: from transformers' Trainer to our recipe, one thing at a time.

    python benchmarks/ablation.py data --out results              # all that is not there yet, then the table
    python benchmarks/ablation.py data --out results --only runs  # or times

Each line changes one thing of the line above it. Its loss is that of a short run on the same number of tokens, its
seconds are of steps that take turns with those of all other lines, and "sooner" is how much earlier than the first line
it gets to the loss that the first line ends with, read off its own curve. Curves are of runs whose schedule ends later,
so what is read off them is too little rather than too much. `time_to_loss.py` has the whole factor.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import rival
import sides
import torch
import tyro
from time_to_loss import SAMPLE, VALIDATIONS, Figures, kept, record
from turns import THREADS, Clock, Contender, Spread, race

from unmask.files import digest
from unmask.models.sizes import SIZES
from unmask.recipes import recipe
from unmask.tokens.dataset import Dataset
from unmask.training import loop
from unmask.training.allocator import keep_large_blocks
from unmask.training.distributed import ALONE
from unmask.training.optimizer import Optimizing
from unmask.training.work import Recipe, Work

STEPS = 250  # of Trainer's 16×128 tokens; the other lines take as many tokens
SPREAD = 0.02  # of Trainer's initial weights


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a line of the table changes, on their side or on ours."""

    name: str
    theirs: rival.Plan | None = None
    keep: bool = True  # memory between steps
    ours: Recipe | None = None
    spread: float | None = None  # of the initial weights, where it is not our own

    @property
    def steps(self) -> int:
        """How many it takes for the tokens."""
        if self.ours is None:
            return STEPS
        return STEPS * rival.ROWS * rival.LENGTH // (self.ours.training.rows * self.ours.training.length)

    def contender(self, data: Path) -> Contender:
        """Its steps, to be timed."""
        if self.theirs is not None:
            return partial(sides.theirs, data=data, plan=replace(self.theirs, steps=100_000), keep=self.keep)
        assert self.ours is not None
        return partial(sides.ours, data=data, recipe=self.ours, steps=self.steps, spread=20)

    def run(self, data: Path, out: Path) -> Figures:
        """Its short run, as kept or made now; where the logits are computed makes no difference to it."""
        if self.theirs is not None:
            plan = replace(self.theirs, plain=False)
            name = f"ablation-theirs-{digest(asdict(plan))[:8]}"
            return kept(out, name, lambda: record(data, plan, name))
        return kept(out, f"ablation-ours-{digest([asdict(self)])[:8]}", lambda: short_run(self, data))


def lines(rate: float) -> list[Line]:
    """From theirs to ours."""
    plan = rival.Plan(steps=STEPS, learning_rate=rate)
    last = recipe("mini")
    adamw = Optimizing(muon=0, adamw=rate)
    settings = replace(last.training, rows=rival.ROWS, micro=rival.ROWS, rate="0.15", optimizing=adamw)
    begin = Recipe(name="ablation", family="bert", size="mini", training=settings)
    muon = replace(begin, training=replace(settings, optimizing=last.training.optimizing))
    modern = replace(muon, family=last.family)
    falling = replace(modern, training=replace(modern.training, rate=last.training.rate))
    return [
        Line(name="transformers' Trainer", theirs=plan, keep=False),
        Line(name="logits where a token is hidden, only", theirs=replace(plan, plain=False), keep=False),
        Line(name="memory kept between steps", theirs=replace(plan, plain=False)),
        Line(name="our loop: no dropout, documents apart, our schedule", ours=begin, spread=SPREAD),
        Line(name="initial weights of 0.7/√width", ours=begin),
        Line(name="Muon", ours=muon),
        Line(name="ModernBERT", ours=modern),
        Line(name=f"hidden rate {last.training.rate}", ours=falling),
        Line(name=f"the recipe: {last.training.rows} blocks a step", ours=last),
    ]


def short_run(line: Line, data: Path) -> Figures:
    """Train on the tokens, measuring on the way."""
    assert line.ours is not None
    keep_large_blocks()
    work = Work.of(Dataset.open(data), line.ours, line.steps, seed=0)
    if line.spread is not None:
        with torch.no_grad():  # they are drawn from a normal distribution, which a factor widens
            for parameter in work.learner.parameters():
                if parameter.ndim > 1:
                    parameter.mul_(line.spread / SIZES[line.ours.size].spread)
    curve: list[tuple[int, float]] = []

    def after_step(position: loop.Position, _: Figures) -> None:
        if position.step % max(1, line.steps // VALIDATIONS) == 0 or position.step == line.steps:
            curve.append((position.step, work.measure(SAMPLE, ALONE)[0].loss))

    loop.train(work.learner, work.optimizer, work.feed, position=loop.Position(), after_step=after_step)
    print(f"{line.name}: {line.steps} steps end at {curve[-1][1]:.3f}", flush=True)
    return {"plan": asdict(line), "curve": curve}


def steps_to(curve: list[tuple[int, float]], loss: float) -> float | None:
    """When a curve first comes down to a loss, between its points on a straight line.

    >>> steps_to([(10, 8.0), (20, 7.0)], 7.5)
    15.0
    """
    before = (0, float("inf"))
    for step, here in curve:
        if here <= loss:
            share = (before[1] - loss) / (before[1] - here) if before[1] < float("inf") else 1.0
            return before[0] + share * (step - before[0])
        before = (step, here)
    return None


def main(
    data: Path,
    /,
    out: Path = Path("time_to_loss"),
    only: Literal["all", "runs", "times"] = "all",
    rate: float = 1e-3,
    rounds: int = 12,
    clock: Clock = "wall",
) -> None:
    """Add one thing at a time; `rate` is AdamW's on both sides, theirs being the best of `time_to_loss.py`."""
    out.mkdir(parents=True, exist_ok=True)
    table = lines(rate)
    runs = [line.run(data, out) for line in table] if only != "times" else []
    if only == "runs":
        return
    known = digest([asdict(line) for line in table])[:8]
    contenders = {line.name: line.contender(data) for line in table}
    seconds = kept(
        out, f"ablation-times-{clock}-{known}", lambda: race(contenders, rounds, threads=THREADS[clock], clock=clock)
    )
    if only == "times":
        return
    goal = runs[0]["curve"][-1][1]
    print(f"\nheld-out loss after {STEPS * rival.ROWS * rival.LENGTH:,} tokens; the goal is {goal:.3f}\n")
    print("| one thing more | seconds a step | loss | steps to the goal | seconds to it | sooner | in all |")
    print("|---|---|---|---|---|---|---|")
    first = previous = None
    for line, run in zip(table, runs, strict=True):
        a_step = Spread.of(seconds[line.name])
        steps = steps_to(run["curve"], goal)
        needed = None if steps is None else steps * a_step.median
        first, previous = first or needed, previous or needed
        factors = (
            "| — | — | — | — |"
            if needed is None
            else (f"| {steps:.0f} | {needed:.0f} | × {previous / needed:.2f} | × {first / needed:.2f} |")
        )
        print(f"| {line.name} | {a_step:.3f} | {run['curve'][-1][1]:.3f} {factors}")
        previous = needed or previous
    curves = {line.name: run["curve"] for line, run in zip(table, runs, strict=True)}
    print("\n" + json.dumps({"seconds": seconds, "curves": curves}))


if __name__ == "__main__":
    tyro.cli(main)
