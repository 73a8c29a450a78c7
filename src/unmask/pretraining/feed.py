"""What each step of a pretraining learns from: a function of the step's number and of how far the run is then.

In: blocks by number, and the objectives. Out: the micro-batches of step k, on any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unmask.objectives.curriculum import Curriculum
from unmask.pretraining.batches import BlockRange, MaskedBatches
from unmask.training.job import PlannedBatch
from unmask.training.timetable import Timetable


@dataclass(frozen=True, eq=False, kw_only=True)
class Feed:
    """The micro-batches of every step."""

    preparer: MaskedBatches
    curriculum: Curriculum
    timetable: Timetable  # how far the run is decides the stage and the rate

    @property
    def seed(self) -> int:
        """What all draws come from."""
        return self.preparer.seed

    @property
    def micro_batches(self) -> int:
        """How many micro-batches a step has."""
        return -(-self.preparer.batch_size // self.preparer.micro_batch)

    @property
    def micro_batch_rows(self) -> int:
        """How many blocks a micro-batch has."""
        return self.preparer.micro_batch

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        """The micro-batches of a step, or some of them: their numbers, their objectives and their blocks."""
        rows, micro_batch, progress = self.preparer.batch_size, self.preparer.micro_batch, self.timetable.progress(step)
        for nth in range(self.micro_batches) if indices is None else indices:
            number = step * self.micro_batches + nth
            objective = self.curriculum.at(progress, number)
            begin = step * rows + nth * micro_batch
            end = min(begin + micro_batch, (step + 1) * rows)
            yield PlannedBatch(number, objective, BlockRange(begin, end, objective.hides, progress))

    def rows(self, step: int) -> list[int]:
        """The numbers, in their epoch, of all blocks of a step."""
        rows = self.preparer.batch_size
        return [number % self.preparer.per_epoch for number in range(step * rows, (step + 1) * rows)]

    def figures(self, tokens: int, predictions: int) -> dict[str, float]:
        """The share of the text that was hidden."""
        return {"hidden_rate": predictions / max(1, tokens)}
