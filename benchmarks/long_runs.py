"""Does the default hold when a run is longer? Alternatives to it, one thing changed in each, on the same tokens.

    python benchmarks/long_runs.py data --out results                                # 1,800 steps each, then the table
    python benchmarks/long_runs.py data --out results --only default,windows-32      # some of them
    python benchmarks/long_runs.py data --out results --steps 7200 --only default,blocks-double
    python benchmarks/long_runs.py data --out results --recipe small --steps 900 --only default
    python benchmarks/long_runs.py data --out results --steps 160 --only wide,wide-rates-third  # rates over width
    python benchmarks/long_runs.py data --out results --report-only

1,800 steps of mini are 15 minutes on two threads at half a second a step. Every alternative has its whole schedule, and
as many tokens as the default: with half of the blocks twice the steps. Losses are on the fixed masks of everything that
is held out, in float32. A run that is killed goes on from where it was, but for the one that averages; losses on the
way are then those of its last sitting.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import sides
import torch
import tyro
from recorded import Figures, kept, key

from unmask.models.families.sizes import SIZES
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint, loop
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import Computing
from unmask.training.machine.distributed import ALONE
from unmask.training.session import Session

SAVED = 100  # steps between two moments to go on from
PARTS = 10  # of a run, after each of which its loss is measured on a sample
AVERAGED = 0.2  # the last part of a run, whose weights are averaged


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """What is changed of a recipe."""

    settings: dict[str, Any] = field(default_factory=dict)
    optimizing: dict[str, Any] = field(default_factory=dict)
    rates: tuple[float, float] = (1.0, 1.0)  # times those of Muon and of AdamW
    shape: dict[str, int] = field(default_factory=dict)  # of the size: its window, its width
    blocks: float = 1.0  # times the blocks of a step; its steps are as many times fewer
    averages: bool = False  # the weights of the last part of the run

    def recipe(self, name: str) -> Recipe:
        """The recipe, so changed."""
        usual = recipe_named(name)
        before = usual.settings.optimizing
        optimizing = replace(
            before, **self.optimizing, muon_lr=before.muon_lr * self.rates[0], adamw_lr=before.adamw_lr * self.rates[1]
        )
        rows = {name: round(getattr(usual.settings, name) * self.blocks) for name in ("batch_size", "micro_batch")}
        size = replace(SIZES[usual.size], **self.shape) if self.shape else usual.size
        changed = {**self.settings, **rows, "optimizing": optimizing}
        return replace(usual, size=size, settings=replace(usual.settings, **changed))


STABLE = {"full_steps": None}  # as high as ever until it falls to 0
STRAIGHT = STABLE | {"decay": 0.95}  # from the end of the warm-up to 0
WIDE = {"width": 768, "heads": 12}  # as `base`, whatever the depth
BEFORE = STABLE | {"fall": "root", "decay": 0.25}  # the default before, at twice the rates
ALTERNATIVES = {
    "default": Alternative(),
    "before": Alternative(optimizing=BEFORE, rates=(2.0, 2.0)),
    "before-decay-half": Alternative(optimizing=BEFORE | {"decay": 0.5}, rates=(2.0, 2.0)),
    "before-decay-most": Alternative(optimizing=BEFORE | {"decay": 0.9}, rates=(2.0, 2.0)),
    "stable": Alternative(optimizing=STABLE),
    "sooner": Alternative(optimizing={"full_steps": 60}),
    "straight": Alternative(optimizing=STRAIGHT),
    "straight-rates-half": Alternative(optimizing=STRAIGHT, rates=(0.5, 0.5)),
    "straight-rates-double": Alternative(optimizing=STRAIGHT, rates=(2.0, 2.0)),
    "straight-muon-double": Alternative(optimizing=STRAIGHT, rates=(2.0, 1.0)),
    "straight-adamw-double": Alternative(optimizing=STRAIGHT, rates=(1.0, 2.0)),
    "rates-half": Alternative(rates=(0.5, 0.5)),
    "rates-more": Alternative(rates=(1.5, 1.5)),
    "muon-half": Alternative(rates=(0.5, 1.0)),
    "adamw-half": Alternative(rates=(1.0, 0.5)),
    "adamw-double": Alternative(rates=(1.0, 2.0)),
    "momentum-0.95": Alternative(optimizing={"momentum": 0.95}),
    "windows-32": Alternative(shape={"window": 32}),
    "windows-128": Alternative(shape={"window": 128}),
    "blocks-half": Alternative(blocks=0.5),
    "blocks-double": Alternative(blocks=2.0),
    "hidden-0.15": Alternative(settings={"rate": "0.15"}),
    "hidden-0.3": Alternative(settings={"rate": "0.3"}),
    "hidden-0.4-to-0.15": Alternative(settings={"rate": "linear 0.4 0.15"}),
    "hidden-0.5-to-0.15": Alternative(settings={"rate": "linear 0.5 0.15"}),
    "hidden-0.6-to-0.15": Alternative(settings={"rate": "linear 0.6 0.15"}),
    "no-weight-decay": Alternative(optimizing={"weight_decay": 0.0}),
    "wide": Alternative(shape=WIDE),
    "wide-rates-two-thirds": Alternative(shape=WIDE, rates=(2 / 3, 2 / 3)),
    "wide-rates-third": Alternative(shape=WIDE, rates=(1 / 3, 1 / 3)),
    "wide-rates-sixth": Alternative(shape=WIDE, rates=(1 / 6, 1 / 6)),
    "averaged": Alternative(optimizing={"decay": 0.05}, averages=True),
}


@dataclass(frozen=True, kw_only=True)
class LongRun:
    """An alternative on some data, for so many steps of the default."""

    name: str
    recipe: str
    data: Path
    steps: int
    seed: int
    precision: str

    @property
    def file(self) -> str:
        """What its figures are kept under."""
        alternative = ALTERNATIVES[self.name]
        digest = key(asdict(alternative.recipe(self.recipe)), alternative.averages, self.precision)
        return f"long-{self.data.name}-{self.recipe}-{self.name}-{self.steps}-{self.seed}-{digest}"

    def run(self, folder: Path) -> Figures:
        """Train to the end, from where it was if it was begun, and measure."""
        keep_large_blocks()
        alternative = ALTERNATIVES[self.name]
        steps = round(self.steps / alternative.blocks)
        computing = Computing(precision=self.precision, device="cpu")
        recipe = alternative.recipe(self.recipe)
        work = sides.session_of(Dataset.open(self.data), recipe, steps, computing, self.seed)
        begun = None if alternative.averages else checkpoint.newest(folder)
        position = loop.Position() if begun is None else work.restore(begun)
        watch = Watch(work, folder, steps, averages=alternative.averages)
        sides.train(work, watch, position)
        watch.settle()
        figures = {name: value for name, value in work.measure(None, ALONE).items() if isinstance(value, float)}
        shutil.rmtree(folder, ignore_errors=True)
        return {**asdict(self), "data": self.data.name, "taken": steps, **figures, "on the way": watch.losses}


class Watch:
    """What happens after a step: losses on a sample, a moment to go on from, and the mean of late weights."""

    def __init__(self, work: Session, folder: Path, steps: int, *, averages: bool) -> None:
        self.work, self.folder, self.steps = work, folder, steps
        self.first = steps - round(AVERAGED * steps) if averages else steps
        self.averages, self.count = averages, 0
        self.mean: dict[str, torch.Tensor] = {}
        self.losses: dict[int, float] = {}

    def __call__(self, position: loop.Position, _: Any) -> None:
        """After each step."""
        if position.step % max(1, self.steps // PARTS) == 0:
            self.losses[position.step] = self.work.measure(16_384, ALONE)["loss"]
            print(f"  {position.step:,} of {self.steps:,}: {self.losses[position.step]:.3f}", flush=True)
        if not self.averages and position.step % SAVED == 0:
            self.work.save(self.folder, position, keep=1)
        if position.step > self.first:
            self.count += 1
            for name, weight in self.work.learner.named_parameters():
                if name not in self.mean:
                    self.mean[name] = copy.deepcopy(weight.detach())
                self.mean[name].lerp_(weight.detach(), 1 / self.count)

    @torch.no_grad()
    def settle(self) -> None:
        """The weights are their mean, where one was taken."""
        for name, weight in self.work.learner.named_parameters():
            if name in self.mean:
                weight.copy_(self.mean[name])


def report(found: dict[str, Figures]) -> None:
    """What each came to, beside the default."""
    usual = found.get("default")
    print("| alternative | steps | masked loss | beside the default | accuracy |\n|---|---|---|---|---|")
    for name, run in sorted(found.items(), key=lambda item: item[1]["loss"]):
        beside = "" if usual is None else f"{run['loss'] - usual['loss']:+.3f}"
        print(f"| {name} | {run['taken']:,} | {run['loss']:.3f} | {beside} | {run['accuracy']:.1%} |")


def main(
    data: Path,
    /,
    out: Path = Path("results"),
    only: str | None = None,
    recipe: str = "mini",
    steps: int = 1_800,
    seed: int = 0,
    precision: str = "bfloat16",
    report_only: bool = False,
) -> None:
    """Train what is not there yet, and print how each alternative ended.

    Args:
        data: A data directory.
        out: Where results are kept.
        only: Some of the alternatives, with commas.
        recipe: What they are alternatives to.
        steps: Of the default.
        seed: Of all draws.
        precision: Of products.
        report_only: Print what is there.
    """
    out.mkdir(parents=True, exist_ok=True)
    names = list(ALTERNATIVES) if only is None else only.split(",")
    if unknown := [name for name in names if name not in ALTERNATIVES]:
        raise SystemExit(f"--only {unknown[0]}: there is no such alternative; there are {', '.join(ALTERNATIVES)}")
    found: dict[str, Figures] = {}
    for name in names:
        run = LongRun(name=name, recipe=recipe, data=data, steps=steps, seed=seed, precision=precision)
        train: Callable[[], Figures] = partial(run.run, out / f"{run.file}.work")
        if not report_only or (out / f"{run.file}.json").exists():
            print(run.file, flush=True)
            found[name] = kept(out, run.file, train)
    report(found)


if __name__ == "__main__":
    tyro.cli(main)
