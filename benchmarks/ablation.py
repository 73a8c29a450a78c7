"""Where the factor comes from: from transformers' Trainer to our recipe, one thing at a time.

    python benchmarks/ablation.py data --out results              # all that is not there yet, then the table
    python benchmarks/ablation.py data --out results --only runs  # or times

Each line changes one thing of the line above it. The goal is the loss that a run of Trainer ends with after 5 minutes.
A line's run is given a little more steps than the line above needed to get there, schedule and all, and the steps it
needs itself are read off its curve: a schedule fitted to them would need fewer. Seconds are of steps that take turns
with those of all other lines. `time_to_loss.py` has the whole factor, with fitted schedules.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import isnan, nan
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
from unmask.training.computing import Computing
from unmask.training.distributed import ALONE
from unmask.training.optimizer import Optimizing
from unmask.training.work import Recipe, Work

STEPS = 336  # of Trainer's 16×128 tokens: 5 minutes
MARGIN = 1.15  # of steps above those that the line before needed
SPREAD = 0.02  # of Trainer's initial weights


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a line of the table changes, on their side or on ours."""

    name: str
    theirs: rival.Plan | None = None
    keep: bool = True  # memory between steps
    ours: Recipe | None = None
    spread: float | None = None  # of the initial weights, where it is not our own
    frequencies: bool = True  # whether a fresh model knows how frequent each token is
    compile: bool = False  # changes the time of a step, and its loss in the last digits only

    def contender(self, data: Path) -> Contender:
        """Its steps, to be timed."""
        if self.theirs is not None:
            return partial(sides.theirs, data=data, plan=replace(self.theirs, steps=100_000), keep=self.keep)
        assert self.ours is not None
        computing = Computing(compile=self.compile)
        return partial(sides.ours, data=data, recipe=self.ours, steps=STEPS, spread=20, computing=computing)

    def run(self, data: Path, out: Path, tokens: float, goal: float) -> Figures:
        """Its run over so many tokens, as kept or made now; where logits are computed makes no difference to it."""
        if self.theirs is not None:
            plan = replace(self.theirs, plain=False)
            name = f"rival-{plan.steps}-steps-rate-{plan.learning_rate:g}-seed-{plan.seed}"
            return kept(out, name, lambda: record(data, plan, name))
        assert self.ours is not None
        steps = round(tokens / self.tokens)
        known = digest([asdict(self.ours), steps, self.spread, self.frequencies])[:8]
        return kept(out, f"ablation-{known}", lambda: short_run(self, data, steps, goal))

    @property
    def tokens(self) -> int:
        """Of a step."""
        return rival.LENGTH * (rival.ROWS if self.ours is None else self.ours.training.rows)


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
        Line(name="our loop: no dropout, documents apart, our schedule", ours=begin, spread=SPREAD, frequencies=False),
        Line(name="a fresh model knows how frequent tokens are", ours=begin, spread=SPREAD),
        Line(name="initial weights of 0.7/√width", ours=begin),
        Line(name="Muon", ours=muon),
        Line(name="ModernBERT", ours=modern),
        Line(name=f"hidden rate {last.training.rate}", ours=falling),
        Line(name=f"the recipe: {last.training.rows} blocks a step", ours=last),
        Line(name="`--compile`", ours=last, compile=True),
    ]


def short_run(line: Line, data: Path, steps: int, goal: float) -> Figures:
    """Train until the goal is reached, measuring on the way."""
    assert line.ours is not None
    keep_large_blocks()
    work = Work.of(Dataset.open(data), line.ours, steps, seed=0)
    with torch.no_grad():
        for parameter in work.learner.parameters() if line.spread else ():
            if parameter.ndim > 1:  # drawn from a normal distribution, which a factor widens
                parameter.mul_(line.spread / SIZES[line.ours.size].spread)
        if not line.frequencies:
            work.learner.get_output_embeddings().bias.zero_()
    curve: list[tuple[int, float]] = []

    def after_step(position: loop.Position, _: Figures) -> None:
        if position.step % max(1, steps // VALIDATIONS) == 0 or position.step == steps:
            curve.append((position.step, work.measure(SAMPLE, ALONE)[0].loss))
            print(f"{line.name}: step {position.step} of {steps}, loss {curve[-1][1]:.3f}", flush=True)
            if curve[-1][1] <= goal:
                raise Reached

    with suppress(Reached):
        loop.train(work.learner, work.optimizer, work.feed, position=loop.Position(), after_step=after_step)
    return {"plan": asdict(line), "steps": steps, "curve": curve}


class Reached(Exception):
    """There is no need to train on."""


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
    rate: float = 5e-4,
    rounds: int = 12,
    clock: Clock = "wall",
) -> None:
    """Add one thing at a time; `rate` is AdamW's on both sides, theirs being the best of `time_to_loss.py`."""
    out.mkdir(parents=True, exist_ok=True)
    table = lines(rate)
    needed: list[float] = []  # steps to the goal
    if only != "times":
        goal, tokens = 0.0, 0.0
        for line in table:
            curve = line.run(data, out, MARGIN * tokens, goal)["curve"]
            goal = goal or curve[-1][1]
            reached = steps_to(curve, goal)
            needed.append(nan if reached is None else reached)
            tokens = tokens if reached is None else reached * line.tokens
    if only == "runs":
        return
    known = digest([asdict(line) for line in table])[:8]
    contenders = {line.name: line.contender(data) for line in table}
    seconds = kept(
        out, f"ablation-times-{clock}-{known}", lambda: race(contenders, rounds, threads=THREADS[clock], clock=clock)
    )
    if only == "times":
        return
    print(f"\nfrom the beginning to a held-out loss of {goal:.3f}\n")
    print("| one thing more | seconds a step | steps | seconds | sooner | in all |\n|---|---|---|---|---|---|")
    first = previous = nan
    for line, steps in zip(table, needed, strict=True):
        a_step = Spread.of(seconds[line.name])
        took = steps * a_step.median
        first, previous = (took, took) if isnan(first) else (first, previous)
        factors = f"× {previous / took:.2f} | × {first / took:.1f}"
        print(f"| {line.name} | {a_step:.3f} | {steps:.0f} | {took:.0f} | {factors} |")
        previous = previous if isnan(took) else took


if __name__ == "__main__":
    tyro.cli(main)
