"""Trials of recipes under equal operations, each trained, measured and probed once, by `unmask compare --flops`.

In: a data directory, a recipe, a seed and a share of the budget, which is what 320 steps of the default kind take in
this size: four to five minutes of mini in float32 on two cores. Out: what `compare` says of it, as JSON.
A trial that is killed goes on where it was; one that is done is never done again.
"""

from __future__ import annotations

import gc
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from recorded import Figures, kept, key

from unmask.evaluation.compare import compare
from unmask.planning.cost import cost_of
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import DEFAULT_KIND, recipe_named
from unmask.pretraining.settings import Recipe
from unmask.results import to_plain
from unmask.runs.history import read_history, summarize_run
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget
from unmask.training.machine.allocator import keep_large_blocks

STEPS = 320  # of the default kind


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A recipe on some data, with a share of the operations."""

    recipe: Recipe
    data: Path
    share: float
    seed: int = 0

    @property
    def name(self) -> str:
        """What its figures are kept under; the data is told by its content."""
        fingerprint = Dataset.open(self.data).fingerprint
        digest = key(asdict(self.recipe), STEPS, self.share, self.seed, fingerprint)
        return f"trial-{self.data.name}-{self.recipe.name}-{self.seed}-{digest}"

    def figures(self, out: Path, *, recording: bool = True) -> Figures | None:
        """What it came to, as kept or found out now; nothing where it is not kept and not to be found out."""
        if not recording and not (out / f"{self.name}.json").exists():
            return None
        return kept(out, self.name, lambda: self.run(out / f"{self.name}.work"))

    def run(self, folder: Path) -> Figures:
        """Train, measure and probe; the folder is there until all of it is done."""
        keep_large_blocks()  # changes no number
        print(f"{self.recipe.name}, {self.recipe.settings.init}, seed {self.seed}", flush=True)
        operations = self.share * default_operations(self.data, self.recipe.size)
        comparison = compare(
            self.data, folder, [self.recipe], Budget(), flops=operations, seed=self.seed, resume=folder.exists()
        )
        run = comparison.runs[0]
        final = summarize_run(read_history(run.run)).final
        own_loss = None if final is None else final.figures["loss"]
        trial = {**asdict(self), "data": self.data.name}
        figures = to_plain({"trial": trial, "flops": operations, "own_loss": own_loss, **asdict(run)})
        del figures["run"]  # which is gone
        shutil.rmtree(folder)
        gc.collect()  # models have cycles, and the next one wants their memory
        return figures


def default_operations(data: Path, size: str) -> float:
    """The floating-point operations of `STEPS` steps of the default kind, as `plan` counts them."""
    recipe = recipe_named(f"{DEFAULT_KIND}-{size}")
    return STEPS * cost_of(Pretraining.of(Dataset.open(data), recipe)).a_step


def unigram_loss(data: Path, length: int) -> float:
    """Nats that a hidden token of the fixed masks costs by how often it occurs in the training text."""
    dataset = Dataset.open(data)
    examples = HeldOutSet.of(dataset.split("valid"), dataset.vocabulary, length=length)
    targets = np.concatenate([held_out.corrupted.targets for held_out in examples.batches()])
    counts = dataset.counts
    return float(-np.log((counts[targets] + 1) / (counts.sum() + len(counts))).mean())


def interval(figure: Figures | None, form: str) -> str:
    """A figure with its interval, as it comes back from JSON."""
    if figure is None or figure["value"] is None:
        return "–"
    if figure["low"] is None:
        return f"{figure['value']:{form}}"
    return f"{figure['value']:{form}} ({figure['low']:{form}} to {figure['high']:{form}})"


def mean_and_range(values: Sequence[float], form: str) -> str:
    """The mean of some seeds, the lowest and the highest.

    >>> mean_and_range([4.0, 5.0, 4.5], ".2f"), mean_and_range([4.0], ".2f"), mean_and_range([], ".2f")
    ('4.50 (4.00 to 5.00)', '4.00', '–')
    """
    if not values:
        return "–"
    spread = f" ({min(values):{form}} to {max(values):{form}})" if len(values) > 1 else ""
    return f"{sum(values) / len(values):{form}}{spread}"
