"""The batches of questions, by the numbers of their examples: what processes that prepare ahead compute.

In: questions as rows of ids, and the tokens of their answers. Out: the batch of any questions. Neither torch nor a
tokenizer is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmask.records import Integers
from unmask.task_batches import QuestionBatch
from unmask.tasks.answer.rows import QuestionRows
from unmask.tasks.order import ExampleOrder


@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionBatches:
    """The questions of every epoch."""

    rows: QuestionRows
    targets: Integers  # N 2: the first and the last token of the answer, -1 where there is none
    nullable: bool  # whether a question may have no answer
    order: ExampleOrder

    def batch(self, stretch: tuple[int, int]) -> QuestionBatch:
        """The examples from one number of the whole run to another."""
        return question_batch(self.rows, self.targets, self.order.examples(*stretch), nullable=self.nullable)


def question_batch(rows: QuestionRows, targets: Integers, numbers: Integers, *, nullable: bool) -> QuestionBatch:
    """Some questions, one after the other."""
    chosen, owners = rows.rows.rows_of(numbers)
    ids, real, types = rows.rows.padded(chosen)
    place = np.arange(ids.shape[1]) - rows.columns[chosen][:, None]  # 0 where the context begins
    allowed = (place >= 0) & (place < rows.counts[chosen][:, None])
    token = place + rows.begins[chosen][:, None]
    starts, ends = (allowed & (token == targets[numbers, side][owners][:, None]) for side in (0, 1))
    return QuestionBatch(
        ids=ids,
        real=real,
        types=types,
        owners=owners,
        allowed=allowed,
        starts=starts,
        ends=ends,
        nullable=nullable,
    )
