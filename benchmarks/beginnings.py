"""How should a model begin? Trials of what `--init informed` sets, and of the constants it sets it with.

    python benchmarks/beginnings.py wiki --out results                    # all that is not there yet, then the tables
    python benchmarks/beginnings.py bio --out results --part constants    # another text, one table
    python benchmarks/beginnings.py wiki --out results --report-only      # what is there

    parts       token frequencies alone, heads at their neighbours, vectors of co-occurrence, and all of it
    constants   one at a time, beside all of it as it is
    families    the other ways to tell positions, from frequencies and from all of it
    sizes       mini, from frequencies and from all of it

Each trial is a run with its whole schedule, at the rates of its recipe; its loss is on the fixed masks of everything
that is held out. Where there are several seeds, the mean and the range.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import sides
import tyro
from equal_operations import mean_and_range
from recorded import Figures, kept, key

from unmask.models import neighbours
from unmask.models.families.sizes import SIZES
from unmask.pretraining import informed
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.tokens import cooccurrence
from unmask.tokens.store.dataset import Dataset
from unmask.training import loop
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import Computing
from unmask.training.machine.distributed import ALONE

SEEDS = (0, 1, 2)
ON_THE_WAY = (24, 48, 96, 192, 384)  # steps after which a sample of the held-out text is looked at


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A recipe that begins in some way, for so many steps."""

    recipe: str
    init: str = "informed"
    heads: dict[str, float] = field(default_factory=dict)  # constants of `Beginning` that are not the usual
    vectors: dict[str, Any] = field(default_factory=dict)  # and of `tokens.cooccurrence`, and RANK
    window: int | None = None  # of ModernBERT's local layers
    steps: int = 200
    seeds: tuple[int, ...] = (0,)

    @property
    def built(self) -> Recipe:
        """The recipe, so changed."""
        recipe = recipe_named(self.recipe, init=self.init)
        return recipe if self.window is None else replace(recipe, size=replace(SIZES[recipe.size], window=self.window))

    def figures(self, data: Path, out: Path, precision: str, *, recording: bool) -> list[Figures]:
        """What each seed came to, as kept or found out now."""
        changed = (self.heads, self.vectors, self.steps, precision, Dataset.open(data).fingerprint)
        digest = key(asdict(self.built), *changed)
        seeds = []
        for seed in self.seeds:
            name = f"beginning-{data.name}-{self.recipe}-{self.steps}-{seed}-{digest}"
            if recording or (out / f"{name}.json").exists():
                seeds.append(kept(out, name, lambda seed=seed: self.run(data, precision, seed)))
        return seeds

    def run(self, data: Path, precision: str, seed: int) -> Figures:
        """Train, and measure."""
        keep_large_blocks()
        computing = Computing(precision=precision, device="cpu")
        with self.constants():
            work = sides.session_of(Dataset.open(data), self.built, self.steps, computing, seed)
        losses: dict[int, float] = {}

        def after_step(position: loop.Position, _: Any) -> None:
            if position.step in ON_THE_WAY:
                losses[position.step] = work.measure(16_384, ALONE)["loss"]

        sides.train(work, after_step)
        figures = {name: value for name, value in work.measure(None, ALONE).items() if isinstance(value, float)}
        print(f"{data.name}: {self} · seed {seed}: {figures['loss']:.3f}", flush=True)
        return {**asdict(self), "seed": seed, "precision": precision, **figures, "on the way": losses}

    @contextmanager
    def constants(self) -> Iterator[None]:
        """The constants of this trial, while a model is built."""
        starts, counted = dict(neighbours.STARTS), {name: getattr(cooccurrence, name) for name in COUNTED}
        rank = informed.RANK
        for kind, start in starts.items():
            neighbours.STARTS[kind] = replace(start, usual=replace(start.usual, **self.heads))
        for name, value in self.vectors.items():
            setattr(informed if name == "RANK" else cooccurrence, name, value)
        if self.vectors:
            informed.kept_vectors.cache_clear()  # which were counted with other constants
        yield
        if self.vectors:
            informed.kept_vectors.cache_clear()
        neighbours.STARTS.update(starts)
        informed.RANK = rank
        for name, value in counted.items():
            setattr(cooccurrence, name, value)

    @property
    def way(self) -> str:
        """How it begins, in words."""
        changes = {**self.heads, **self.vectors} | ({} if self.window is None else {"window": self.window})
        return " ".join([self.init, *(f"{name} {value}" for name, value in changes.items())])

    def __str__(self) -> str:
        return f"{self.recipe}, {self.steps} steps, {self.way}"


COUNTED = ("OFFSETS", "SMOOTHING", "SAMPLE", "POWER")
PARTS = tuple(
    Trial(recipe=recipe, init=init, seeds=SEEDS if init in ("frequencies", "informed") else (0,))
    for recipe in ("tiny", "bert-tiny")
    for init in ("frequencies", "neighbours", "vectors", "informed")
)
CONSTANTS = (
    Trial(recipe="tiny"),
    *(Trial(recipe="tiny", heads=heads) for heads in ({"peak": 4.5}, {"peak": 18.0}, {"part": 0.125}, {"part": 0.5})),
    *(Trial(recipe="tiny", vectors={"POWER": power}) for power in (0.0, 0.75)),
    *(Trial(recipe="tiny", vectors={"OFFSETS": offsets}) for offsets in ({1: 1.0}, {1: 1.0, 2: 0.7, 3: 0.5, 4: 0.4})),
    Trial(recipe="tiny", window=32),
    Trial(recipe="tiny", heads={"layers": 2}),
    Trial(recipe="bert-tiny"),
    *(
        Trial(recipe="bert-tiny", heads=heads)
        for heads in ({"peak": 4.5}, {"peak": 18.0}, {"part": 0.35}, {"part": 0.7}, {"others": 1.0}, {"layers": 2})
    ),
    Trial(recipe="mini", seeds=SEEDS),
    Trial(recipe="mini", heads={"share": 1.0}),
    *(Trial(recipe="mini", heads={"layers": layers}) for layers in (2, 4)),
    Trial(recipe="bert-mini", seeds=SEEDS),
    Trial(recipe="bert-mini", heads={"share": 0.5}),
)
FAMILIES = tuple(
    Trial(recipe=f"{kind}-tiny", init=init)
    for kind in ("electra", "deberta", "deberta-v3", "xlnet", "mpnet", "t5", "causal", "diffusion")
    for init in ("frequencies", "informed")
)
LARGER = tuple(Trial(recipe="mini", init=init, steps=400, seeds=SEEDS) for init in ("frequencies", "informed"))
Part = Literal["parts", "constants", "families", "sizes"]
TRIALS: dict[Part, tuple[Trial, ...]] = {
    "parts": PARTS,
    "constants": CONSTANTS,
    "families": FAMILIES,
    "sizes": LARGER,
}


def report(part: Part, found: list[tuple[Trial, list[Figures]]]) -> None:
    """What came of each trial, and of those that restore nothing how well replaced tokens are told."""
    heads = ("recipe", "steps", "begins", "seeds", "held-out loss", "AUC of the detection")
    print(f"\n{part}\n\n| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    for trial, runs in found:
        loss, auc = (
            mean_and_range([run[name] for run in runs if name in run], ".3f") for name in ("loss", "detection_auc")
        )
        print(f"| {trial.recipe} | {trial.steps} | {trial.way} | {len(runs)} | {loss} | {auc} |")


def main(
    data: Path,
    /,
    out: Path = Path("results"),
    part: Part | None = None,
    precision: str = "bfloat16",
    report_only: bool = False,
) -> None:
    """Run the trials that are not kept yet, and print what came of them.

    Args:
        data: A data directory.
        out: Where results are kept.
        part: One of the tables.
        precision: Of products.
        report_only: Print what is there.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in [*TRIALS] if part is None else [part]:
        runs = [(trial, trial.figures(data, out, precision, recording=not report_only)) for trial in TRIALS[name]]
        report(name, [(trial, seeds) for trial, seeds in runs if seeds])


if __name__ == "__main__":
    tyro.cli(main)
