"""Where the factor comes from: from transformers' Trainer to our recipe, one thing at a time.

    python benchmarks/ablation.py data --out results              # all that is not there yet, then the table
    python benchmarks/ablation.py data --out results --only runs  # or times

Each line changes one thing of the line above it, and is given the same tokens, schedule and all: those after which our
recipe has the loss of Trainer's 15 minutes. Seconds are of steps that take turns with those of all other lines.
`time_to_loss.py` has the whole factor.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import rival
import sides
import torch
import tyro
from recorded import Figures, kept, key
from time_to_loss import record
from turns import THREADS, Clock, Contender, Spread, race

from unmask.models.families.sizes import SIZES, Size
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.tokens.store.dataset import Dataset
from unmask.training import loop
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import Computing
from unmask.training.machine.distributed import ALONE
from unmask.training.optimizer import Optimizing

TOKENS = 46 * 32 * 128  # with three seeds the recipe needs 45, 47 and 45 steps
SIZE = SIZES["mini"]
SPREAD = 0.02  # of Trainer's initial weights


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a line of the table changes, on their side or on ours."""

    name: str
    theirs: rival.Plan | None = None
    keep: bool = True  # memory between steps
    ours: Recipe | None = None
    spread: float = SIZE.spread  # of the initial weights
    compile: bool = False  # changes the time of a step, and its loss in the last digits only

    @property
    def steps(self) -> int:
        """How many the tokens make."""
        return TOKENS // rival.LENGTH // (rival.ROWS if self.ours is None else self.ours.settings.batch_size)

    def contender(self, data: Path) -> Contender:
        """Its steps, to be timed."""
        if self.theirs is not None:
            return partial(sides.theirs, data=data, plan=replace(self.theirs, steps=100_000), keep=self.keep)
        assert self.ours is not None
        computing = Computing(compile=self.compile)
        return partial(sides.ours, data=data, recipe=self.ours, steps=self.steps, spread=20, computing=computing)

    def run(self, data: Path, out: Path) -> Figures:
        """Its run, as kept or made now; where the logits are computed makes no difference to it."""
        if self.theirs is not None:
            plan = replace(self.theirs, plain=False)
            name = f"rival-{plan.steps}-steps-rate-{plan.learning_rate:g}-seed-{plan.seed}"
            return kept(out, name, lambda: record(data, plan, name))
        known = key(self.ours, self.steps, self.spread)
        return kept(out, f"ablation-{known}", lambda: trained(self, data))


def lines(rate: float) -> list[Line]:
    """From theirs to ours."""
    plan = rival.Plan(steps=TOKENS // rival.LENGTH // rival.ROWS, learning_rate=rate)
    last = recipe_named("mini")
    adamw = Optimizing(muon_lr=0, adamw_lr=rate)
    rows = {"batch_size": rival.ROWS, "micro_batch": rival.ROWS}
    settings = replace(last.settings, **rows, rate="0.15", optimizing=adamw, init="frequencies")
    begin = Recipe(name="ablation", family="bert", size="mini", settings=settings)
    plain = replace(begin, settings=replace(settings, init="random"))
    muon = replace(begin, settings=replace(settings, optimizing=last.settings.optimizing))
    wide = replace(muon, family=last.family, size=Size(SIZE.layers, SIZE.width, SIZE.heads))
    modern = replace(wide, size="mini")
    falling = replace(modern, settings=replace(modern.settings, rate=last.settings.rate))
    whole = replace(last, settings=replace(last.settings, init="frequencies"))
    looking = replace(last, settings=replace(last.settings, init="neighbours"))
    return [
        Line(name="transformers' Trainer", theirs=plan, keep=False),
        Line(name="logits where a token is hidden, only", theirs=replace(plan, plain=False), keep=False),
        Line(name="memory kept between steps", theirs=replace(plan, plain=False)),
        Line(name="our loop: no dropout, documents apart, our schedule", ours=plain, spread=SPREAD),
        Line(name="a fresh model knows how frequent tokens are", ours=begin, spread=SPREAD),
        Line(name="Muon", ours=muon, spread=SPREAD),
        Line(name="initial weights of 0.7/√width", ours=muon),
        Line(name="ModernBERT with windows of 128", ours=wide),
        Line(name=f"windows of {SIZE.window}", ours=modern),
        Line(name=f"hidden rate {last.settings.rate}", ours=falling),
        Line(name=f"{last.settings.batch_size} blocks a step", ours=whole),
        Line(name="first heads look at neighbours", ours=looking),
        Line(name="the recipe: token vectors of co-occurrence", ours=last),
        Line(name="`--compile`", ours=last, compile=True),
    ]


def trained(line: Line, data: Path) -> Figures:
    """Train on the tokens, and measure."""
    assert line.ours is not None
    keep_large_blocks()
    work = sides.session_of(Dataset.open(data), line.ours, line.steps)
    with torch.no_grad():
        for parameter in work.learner.parameters():
            if parameter.ndim > 1:  # drawn from a normal distribution, which a factor widens
                parameter.mul_(line.spread / SIZE.spread)
    nothing = lambda _position, _figures: None  # noqa: E731
    loop.train(work.learner, work.optimizer, work.source, position=loop.Position(), after_step=nothing)
    loss = work.measure(None, ALONE)["loss"]
    print(f"{line.name}: {line.steps} steps end at {loss:.3f}", flush=True)
    return {"plan": asdict(line), "loss": loss}


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
    losses = [line.run(data, out)["loss"] for line in table] if only != "times" else []
    if only == "runs":
        return
    known = key([asdict(line) for line in table])
    contenders = {line.name: line.contender(data) for line in table}
    seconds = kept(
        out, f"ablation-times-{clock}-{known}", lambda: race(contenders, rounds, threads=THREADS[clock], clock=clock)
    )
    if only == "times":
        return
    print(f"\nheld-out loss after {TOKENS:,} tokens\n")
    print("| one thing more | seconds a step | of so many blocks | seconds in all | loss |\n|---|---|---|---|---|")
    for line, loss in zip(table, losses, strict=True):
        a_step = Spread.of(seconds[line.name])
        rows = TOKENS // rival.LENGTH // line.steps
        print(f"| {line.name} | {a_step:.3f} | {rows} | {line.steps * a_step.median:.0f} | {loss:.3f} |")


if __name__ == "__main__":
    tyro.cli(main)
