"""What each step of a tuning learns from: a function of the step's number.

In: batches by the numbers of their examples, and the objective. Out: the micro-batches of step k, on any number of
processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from unmask.objectives.objective import AnyObjective
from unmask.tasks.order import ExampleOrder
from unmask.training.job import PlannedBatch
from unmask.training.timetable import Timetable


class ExampleBatches(Protocol):
    """Makes the batch of a stretch of examples; picklable and without torch: other processes do it ahead."""

    @property
    def order(self) -> ExampleOrder:
        """Which examples the numbers of the run are."""
        ...

    def batch(self, stretch: tuple[int, int]) -> Any:
        """The examples from one number of the whole run to another."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class ExampleFeed:
    """The micro-batches of every step."""

    preparer: ExampleBatches
    objective: AnyObjective
    micro_batch: int  # examples in a micro-batch
    timetable: Timetable

    @property
    def seed(self) -> int:
        """What all draws come from."""
        return self.preparer.order.seed

    @property
    def micro_batches(self) -> int:
        """How many micro-batches a step has."""
        return -(-self.preparer.order.batch_size // self.micro_batch)

    @property
    def micro_batch_rows(self) -> int:
        """How many examples a micro-batch has."""
        return self.micro_batch

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        """The micro-batches of a step, or some of them: their numbers and their examples."""
        size = self.preparer.order.batch_size
        for nth in range(self.micro_batches) if indices is None else indices:
            begin = step * size + nth * self.micro_batch
            end = min(begin + self.micro_batch, (step + 1) * size)
            yield PlannedBatch(step * self.micro_batches + nth, self.objective, (begin, end))

    def rows(self, step: int) -> list[int]:
        """The numbers of the examples of a step, as the file has them."""
        size = self.preparer.order.batch_size
        numbers: list[int] = self.preparer.order.examples(step * size, (step + 1) * size).tolist()
        return numbers

    def figures(self, tokens: int, predictions: int) -> dict[str, float]:
        """Nothing beyond the loss and what the objective counts."""
        return {}
