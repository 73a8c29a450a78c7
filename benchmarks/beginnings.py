"""How a model should begin: trials of what `--init informed` sets, and of the constants it sets it with.

    python benchmarks/beginnings.py wiki --out results                     # what is not there yet, then the table
    python benchmarks/beginnings.py wiki --out results --recipe bert-tiny  # one recipe

Each trial is a run with its whole schedule; its loss is on the fixed masks of the held-out text. The ways to begin
are those of `--init`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import sides
import tyro
from recorded import Figures, kept, key

from unmask.models import neighbours
from unmask.pretraining import informed
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import INITS
from unmask.tokens import cooccurrence
from unmask.tokens.store.dataset import Dataset
from unmask.training import loop
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.distributed import ALONE


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A recipe that begins in some way, for so many steps."""

    recipe: str
    init: str = "informed"
    heads: dict[str, float] = field(default_factory=dict)  # constants of `Beginning` that are not the usual
    vectors: dict[str, Any] = field(default_factory=dict)  # and of `tokens.cooccurrence`, and RANK
    steps: int = 200
    seed: int = 0

    def name(self, data: Path) -> str:
        """What its figures are kept under."""
        return f"beginning-{data.name}-{self.recipe}-{self.steps}-{self.seed}-{key(asdict(self))}"

    def run(self, data: Path) -> Figures:
        """Train, and measure."""
        keep_large_blocks()
        dataset = Dataset.open(data)
        recipe = recipe_named(self.recipe, init=self.init)
        with self.constants():
            work = sides.session_of(dataset, recipe, self.steps, seed=self.seed)
        losses: dict[int, float] = {}

        def after_step(position: loop.Position, _: Any) -> None:
            if position.step in (24, 48, 96, 192, 384):
                losses[position.step] = work.measure(16_384, ALONE)["loss"]

        loop.train(work.learner, work.optimizer, work.source, position=loop.Position(), after_step=after_step)
        figures = {name: value for name, value in work.measure(None, ALONE).items() if isinstance(value, float)}
        return asdict(self) | figures | {"on the way": losses}

    @contextmanager
    def constants(self) -> Iterator[None]:
        """The constants of this trial, while a model is built."""
        starts, counted = dict(neighbours.STARTS), {name: getattr(cooccurrence, name) for name in COUNTED}
        rank = informed.RANK
        for kind, start in starts.items():
            neighbours.STARTS[kind] = replace(start, usual=replace(start.usual, **self.heads))
        for name, value in self.vectors.items():
            setattr(informed if name == "RANK" else cooccurrence, name, value)
        yield
        neighbours.STARTS.update(starts)
        informed.RANK = rank
        for name, value in counted.items():
            setattr(cooccurrence, name, value)

    def __str__(self) -> str:
        changes = " ".join(f"{name} {value}" for name, value in {**self.heads, **self.vectors}.items())
        return f"{self.recipe:16} {self.steps} steps, seed {self.seed}  {self.init} {changes}"


COUNTED = ("OFFSETS", "SMOOTHING", "SAMPLE", "POWER")


def trials() -> list[Trial]:
    """What is tried: the parts at tiny, every family as drawn and as it begins, constants one at a time, and mini."""
    parts = [Trial(recipe=recipe, init=init) for recipe in ("tiny", "bert-tiny") for init in INITS if init != "random"]
    families = [
        Trial(recipe=f"{kind}-tiny", init=init)
        for kind in ("electra", "deberta", "xlnet", "t5", "causal", "diffusion", "deberta-v3")
        for init in ("frequencies", "informed")
    ]
    constants = [
        *(
            Trial(recipe="tiny", heads=heads)
            for heads in ({"part": 0.5}, {"peak": 4.0}, {"peak": 16.0}, {"share": 1.0})
        ),
        *(Trial(recipe="tiny", vectors={"POWER": power}) for power in (0.0, 0.75)),
        *(
            Trial(recipe="tiny", vectors={"OFFSETS": offsets})
            for offsets in ({1: 1.0}, {1: 1.0, 2: 0.7, 3: 0.5, 4: 0.4})
        ),
        Trial(recipe="tiny", vectors={"SAMPLE": 16 << 20}),
    ]
    return [*parts, *families, *constants, *(Trial(recipe="mini", init=init, steps=482) for init in INITS)]


def main(data: Path, /, out: Path = Path("results"), recipe: str | None = None) -> None:
    """Run the trials that are not kept yet, and print them."""
    out.mkdir(parents=True, exist_ok=True)
    for trial in trials():
        if recipe is None or trial.recipe == recipe:
            figures = kept(out, trial.name(data), lambda trial=trial: trial.run(data))
            rest = " ".join(f"{name} {value:.3f}" for name, value in figures.items() if isinstance(value, float))
            print(f"{trial}  {rest} {figures['on the way']}", flush=True)


if __name__ == "__main__":
    tyro.cli(main)
