"""What each step of a pretraining learns from: a function of the step's number and of how far the run is then.

In: blocks by number, and the objectives. Out: the micro-batches of step k, on any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unmask.objectives.curriculum import Curriculum
from unmask.pretraining.batches import BlockRange, MaskedBatches
from unmask.pretraining.lengths import LengthSchedule
from unmask.training.job import PlannedBatch
from unmask.training.timetable import Timetable


@dataclass(frozen=True, eq=False, kw_only=True)
class Feed:
    """The micro-batches of every step."""

    preparer: MaskedBatches
    curriculum: Curriculum
    timetable: Timetable  # how far the run is decides the stage, the rate and the length
    lengths: LengthSchedule  # whose first is the preparer's

    @property
    def seed(self) -> int:
        """What all draws come from."""
        return self.preparer.seed

    @property
    def micro_batches(self) -> int:
        """How many micro-batches a step has; fewer only where long blocks are not as many."""
        return -(-self.preparer.batch_size // self.preparer.micro_batch)

    @property
    def micro_batch_rows(self) -> int:
        """How many blocks a micro-batch has."""
        return self.preparer.micro_batch

    def batches_at(self, step: int) -> MaskedBatches:
        """The blocks of the length that a step has."""
        return self.preparer.at_length(self.lengths.at(self.timetable.progress(step)))

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        """The micro-batches of a step, or some of them: their numbers, their objectives and their blocks.

        Blocks are counted as if all steps had their length: a step of it lies as far in its epoch as it would then.
        """
        batches, progress = self.batches_at(step), self.timetable.progress(step)
        rows = batches.batch_size
        count = min(self.micro_batches, rows)
        for nth in range(self.micro_batches) if indices is None else indices:
            if nth >= count:
                continue
            number = step * self.micro_batches + nth
            objective = self.curriculum.at(progress, number)
            begin, end = (step * rows + first_row(rows, count, each) for each in (nth, nth + 1))
            yield PlannedBatch(number, objective, BlockRange(begin, end, objective.hides, progress, batches.length))

    def rows(self, step: int) -> list[int]:
        """The numbers, in their epoch, of all blocks of a step."""
        batches = self.batches_at(step)
        rows = batches.batch_size
        return [number % batches.per_epoch for number in range(step * rows, (step + 1) * rows)]

    def figures(self, tokens: int, predictions: int) -> dict[str, float]:
        """The share of the text that was hidden."""
        return {"hidden_rate": predictions / max(1, tokens)}


def first_row(rows: int, micro_batches: int, nth: int) -> int:
    """Where the nth of so many micro-batches begins among the rows of a step; the first have the rest.

    >>> [first_row(32, 3, nth) for nth in range(4)]
    [0, 11, 22, 32]
    """
    size, rest = divmod(rows, micro_batches)
    return nth * size + min(nth, rest)
