"""A job that is neither masked nor text: a small regression on arrays, run by the same loop as everything else.

`python regression.py OUT --steps 40 …` runs it as a command of its own, which torchrun starts on several processes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import Linear, Module, ReLU, Sequential

from unmask.errors import UnmaskError
from unmask.files import whole_directory
from unmask.objectives.objective import Objective, Outcome
from unmask.randomness import Draws
from unmask.results import FigureTitle
from unmask.training.budget import Budget
from unmask.training.job import FinishedRun, Job, PlannedBatch
from unmask.training.machine.distributed import World
from unmask.training.observer import Saving
from unmask.training.optimizer import Optimizing
from unmask.training.run_job import run_job
from unmask.training.timetable import Timetable

ROWS, MICRO = 12, 4
TITLES = (
    FigureTitle("r2", "Explained variance", better="more", percent=True),
    FigureTitle("loss", "Squared error"),
)


@dataclass(frozen=True)
class Points:
    """Rows of a table: what is known and what is asked."""

    x: np.ndarray  # B 3
    y: np.ndarray  # B

    @property
    def tokens(self) -> int:
        return len(self.x)

    @property
    def predictions(self) -> int:
        return len(self.x)

    def cut(self, parts: int) -> Iterator[Points]:
        for some in np.array_split(np.arange(len(self.x)), min(parts, len(self.x))):
            yield Points(self.x[some], self.y[some])


def points(numbers: np.ndarray, *, noise: float) -> Points:
    """The rows of these numbers: y = sin(x₁) + x₂² − x₃, each a function of its number."""
    draws = Draws.of(0, 0, numbers)
    x = np.stack([_uniform(draws.keys, nth) for nth in range(3)], axis=1) * 2 - 1
    y = np.sin(3 * x[:, 0]) + x[:, 1] ** 2 - x[:, 2] + noise * (_uniform(draws.keys, 3) - 0.5)
    return Points(x.astype(np.float32), y.astype(np.float32))


def _uniform(keys: np.ndarray, nth: int) -> np.ndarray:
    mixed = (keys ^ np.uint64(0x9E3779B97F4A7C15 * (nth + 1) & (2**64 - 1))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


class Regression(Objective):
    """Say a number."""

    name = "regression"
    terms: Mapping[str, float] = {"squares": 1.0}
    tally_sizes: Mapping[str, int] = {"moments": 2}

    def counts(self, batch: Any) -> dict[str, int]:
        return {"squares": len(batch.y)}

    def outcome(self, learner: Any, batch: Any) -> Outcome:
        asked = torch.from_numpy(batch.y)
        error = (learner(torch.from_numpy(batch.x)).squeeze(1) - asked).square().sum()
        moments: Tensor = torch.stack([asked.sum(), asked.square().sum()])
        return Outcome({"squares": error}, {"moments": moments})


REGRESSION = Regression()


@dataclass(frozen=True)
class Preparer:
    """Makes batches without torch."""

    def batch(self, request: tuple[int, int]) -> Points:
        return points(np.arange(*request) % 600, noise=0.3)


@dataclass(frozen=True)
class Rows:
    """Twelve rows a step, in three micro-batches."""

    timetable: Timetable
    seed: int = 0
    preparer: Preparer = Preparer()
    micro_batches: int = ROWS // MICRO
    micro_batch_rows: int = MICRO

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        for nth in range(self.micro_batches) if indices is None else indices:
            number = step * self.micro_batches + nth
            yield PlannedBatch(number, REGRESSION, (number * MICRO, (number + 1) * MICRO))

    def rows(self, step: int) -> list[int]:
        return list(range(step * ROWS, (step + 1) * ROWS))

    def figures(self, tokens: int, predictions: int) -> dict[str, float]:
        return {}


@dataclass(frozen=True)
class Explained:
    """The share of the variance of rows that nothing is learnt from."""

    tokens: int = 200

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        held_out = points(np.arange(10_000, 10_000 + min(self.tokens, limit or self.tokens)), noise=0.0)
        with torch.no_grad():
            told = learner(torch.from_numpy(held_out.x)).squeeze(1).numpy()
        error = float(np.mean((told - held_out.y) ** 2))
        return {"r2": 1 - error / float(held_out.y.var()), "loss": error}


def build(*, fresh: bool = True) -> Module:
    torch.manual_seed(0)
    return Sequential(Linear(3, 16), ReLU(), Linear(16, 1))


def export(learner: Module, finished: FinishedRun) -> None:
    with whole_directory(finished.path / "model") as aside:
        save_file(
            {name: value.contiguous() for name, value in learner.state_dict().items()}, aside / "weights.safetensors"
        )
        (aside / "README.md").write_text(f"step {finished.step}, {finished.figures['r2']:.3f}\n")


def job(*, lr: float = 2e-2) -> Job:
    return Job(
        kind="regress",
        name="sine",
        seed=0,
        settings={"rows": ROWS, "lr": lr},
        figures=TITLES,
        build=build,
        source=Rows,
        validation=lambda learner: Explained(),
        export=export,
        optimizing=Optimizing(muon_lr=0.0, adamw_lr=lr, weight_decay=0.0),
        tokens_a_step=ROWS,
        steps_an_epoch=600 / ROWS,
        micro_batches=ROWS // MICRO,
        facts={"data": "a made-up table"},
        uses=("cat RUN/model/README.md",),
    )


def main() -> None:
    """The job as a command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--epochs", type=float)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--lr", type=float, default=2e-2)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--reproducible", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    given = parser.parse_args()
    try:
        finished = run_job(
            job(lr=given.lr),
            given.out,
            Budget(steps=given.steps, epochs=given.epochs, minutes=given.minutes),
            resume=given.resume,
            saving=Saving(seconds=0.0, best=given.best),
            reproducible=given.reproducible,
            workers=given.workers,
        )
    except UnmaskError as error:
        print(error, file=sys.stderr)
        sys.exit(error.code)
    print(json.dumps({"steps": finished.steps, "step": finished.step, **finished.figures}))


if __name__ == "__main__":
    main()
