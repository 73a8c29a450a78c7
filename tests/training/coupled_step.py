"""One step of a coupled objective on a small network, run by torchrun on any number of processes.

`python coupled_step.py OUT MICRO` writes the loss of the step and its gradients, as every process has them in the end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from regression import Points, job, points
from torch import Tensor
from torch.nn import Dropout, Linear, Module, Sequential, Tanh

from unmask.objectives.coupled import CoupledObjective
from unmask.objectives.objective import Outcome
from unmask.training.job import Job, PlannedBatch
from unmask.training.machine.distributed import World, process_group
from unmask.training.session import Session
from unmask.training.step import StepOptions, take_step
from unmask.training.timetable import Timetable

ROWS = 12


class Contrast(CoupledObjective[Any, Any]):
    """Each row is to be told from all others of the step."""

    name = "contrast"
    terms: Mapping[str, float] = {"rows": 1.0}

    def counts(self, batch: Any) -> dict[str, int]:
        return {"rows": len(batch.y)}

    def represent(self, learner: Any, batch: Any) -> Tensor:
        made: Tensor = learner(torch.from_numpy(batch.x))
        return made

    def targets(self, batch: Any) -> np.ndarray:
        return batch.y[:, None].astype(np.float64)

    def joint_outcome(self, representations: Tensor, targets: Tensor) -> Outcome:
        near = torch.log_softmax(representations @ representations.T, 1)
        return Outcome({"rows": ((near.diagonal() * targets[:, 0].float()).sum())})


CONTRAST = Contrast()


@dataclass(frozen=True)
class Preparer:
    def batch(self, request: tuple[int, int]) -> Points:
        return points(np.arange(*request), noise=0.3)


@dataclass(frozen=True)
class Rows:
    """Twelve rows a step, in micro-batches of a size."""

    timetable: Timetable
    micro: int = ROWS
    seed: int = 0
    preparer: Preparer = Preparer()

    @property
    def micro_batches(self) -> int:
        return -(-ROWS // self.micro)

    @property
    def micro_batch_rows(self) -> int:
        return self.micro

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        for nth in range(self.micro_batches) if indices is None else indices:
            begin = step * ROWS + nth * self.micro
            end = min(begin + self.micro, (step + 1) * ROWS)
            yield PlannedBatch(step * self.micro_batches + nth, CONTRAST, (begin, end))

    def rows(self, step: int) -> list[int]:
        return []

    def figures(self, tokens: int, predictions: int) -> dict[str, float]:
        return {}


def build(*, fresh: bool = True, dropout: float = 0.0) -> Module:
    torch.manual_seed(0)
    return Sequential(Linear(3, 16), Tanh(), Dropout(dropout), Linear(16, 4))


def coupled_job(micro: int) -> Job:
    return replace(job(), build=build, source=lambda timetable: Rows(timetable, micro), micro_batches=-(-ROWS // micro))


def one_step(micro: int, world: World, *, splits: int = 1) -> tuple[float, list[float], list[float]]:
    """The loss of a step, its gradients before they are applied, and the weights after it."""
    session = Session.begin(coupled_job(micro), 10, world=world)
    gradients: list[float] = []
    clear = session.optimizer.clear

    def keep_and_clear() -> None:
        gradients.extend(number for p in session.learner.parameters() for number in p.grad.flatten().tolist())
        clear()

    session.optimizer.clear = keep_and_clear  # type: ignore[method-assign]
    options = StepOptions(splits=splits)
    result = take_step(session.learner, session.optimizer, session.source, step=2, world=world, options=options)
    weights = [number for p in session.learner.parameters() for number in p.detach().flatten().tolist()]
    return result.loss, gradients, weights


def main() -> None:
    out, micro = Path(sys.argv[1]), int(sys.argv[2])
    with process_group(micro_batches=-(-ROWS // micro), reproducible=sys.argv[3:] == ["reproducible"]) as world:
        found = one_step(micro, world)
    (out / f"rank-{world.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
