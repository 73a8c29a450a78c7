"""The batches of scored pairs, by the numbers of their examples: what processes that prepare ahead compute.

In: texts as rows of ids, and scores. Out: the batch of any stretch of the run, a function of its numbers. Neither torch
nor a tokenizer is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmask.records import Reals
from unmask.task_batches import ScoredBatch
from unmask.tasks.order import ExampleOrder
from unmask.tasks.sentence_batches import SentenceRows


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoredBatches:
    """The scored pairs of every epoch."""

    rows: SentenceRows  # 2 N: the first text of each pair, then the second of each
    scores: Reals  # N
    order: ExampleOrder

    def batch(self, stretch: tuple[int, int]) -> ScoredBatch:
        """The pairs from one number of the whole run to another."""
        numbers = self.order.examples(*stretch)
        texts = self.rows.batch(np.concatenate([numbers, numbers + len(self.scores)]))
        return ScoredBatch(texts=texts, scores=self.scores[numbers])
