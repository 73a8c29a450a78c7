"""The batches of labelled texts, by the numbers of their examples: what processes that prepare ahead compute.

In: texts as rows of ids, and their labels. Out: the batch of any stretch of the run, a function of its numbers.
Neither torch nor a tokenizer is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass

from unmask.records import Reals
from unmask.task_batches import LabelledBatch
from unmask.tasks.order import ExampleOrder
from unmask.tasks.text_rows import TextRows


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledBatches:
    """The labelled texts of every epoch."""

    rows: TextRows
    targets: Reals  # N C: 1 where a label holds
    order: ExampleOrder

    def batch(self, stretch: tuple[int, int]) -> LabelledBatch:
        """The examples from one number of the whole run to another."""
        numbers = self.order.examples(*stretch)
        rows, places = self.rows.rows_of(numbers)
        ids, real, types = self.rows.padded(rows)
        return LabelledBatch(ids=ids, real=real, types=types, owners=places, targets=self.targets[numbers])
