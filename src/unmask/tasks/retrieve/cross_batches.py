"""The batches of queries with their candidates, by the numbers of their examples: what can be prepared ahead.

In: pairs of a query and a document as rows of ids, those of each example after each other, its answer first. Out: the
batch of any stretch of the run, a function of its numbers. Neither torch nor a tokenizer is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmask.records import Integers
from unmask.task_batches import CandidateBatch
from unmask.tasks.order import ExampleOrder
from unmask.tasks.text_rows import TextRows


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateBatches:
    """The queries of every epoch, each with its candidates."""

    rows: TextRows  # of every pair
    ends: Integers  # N: where the pairs of each example end
    order: ExampleOrder

    def batch(self, stretch: tuple[int, int]) -> CandidateBatch:
        """The examples from one number of the whole run to another."""
        numbers = self.order.examples(*stretch)
        begins = np.concatenate([[0], self.ends])[numbers]
        sizes = self.ends[numbers] - begins
        queries = np.repeat(np.arange(len(numbers)), sizes)
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows, owners = self.rows.rows_of(begins[queries] + within)
        ids, real, types = self.rows.padded(rows)
        targets = (within == 0).astype(np.float64)[:, None]
        return CandidateBatch(ids=ids, real=real, types=types, owners=owners, targets=targets, queries=queries)
