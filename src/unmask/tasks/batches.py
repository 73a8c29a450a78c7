"""The batches of labelled texts, by the numbers of their examples: what processes that prepare ahead compute.

In: texts as rows of ids, and their labels. Out: the batch of any stretch of the run, a function of its number:
examples are counted through all epochs, each of which has an order of its own. Neither torch nor a tokenizer is needed
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from unmask.records import Ids, Integers, LabelledBatch, Reals
from unmask.tokens.pack import random_order

ROUND = 16  # rows are padded to multiples: a kernel for each shape would be kept in memory
POOL = 8  # steps' worth of examples that are put in order by their lengths together


@dataclass(frozen=True, eq=False)
class TextRows:
    """Texts as a model takes them: each in one row or, where it is long, in several that overlap."""

    ids: Ids  # of all rows, one after the other, special tokens among them
    types: Ids  # beside them: 1 in the second text of a pair
    ends: Integers  # R: where each row ends
    owners: Integers  # R: the text each row is of, ascending
    tokens: Integers  # N: tokens of each text
    pad: int
    typed: bool = False  # whether the model is told the types
    limit: int | None = None  # tokens in a row at the most

    @cached_property
    def lengths(self) -> Integers:
        """R: the tokens of each row."""
        return np.diff(self.ends, prepend=0)

    @cached_property
    def windows(self) -> Integers:
        """N: the rows of each text."""
        return np.bincount(self.owners, minlength=len(self.tokens))

    @cached_property
    def work(self) -> Integers:
        """N: the tokens of all rows of each text."""
        return np.bincount(self.owners, weights=self.lengths, minlength=len(self.tokens)).astype(np.int64)

    def rows_of(self, numbers: Sequence[int] | Integers) -> tuple[Integers, Integers]:
        """The rows of some texts, and for each its text's place among them."""
        begins = np.searchsorted(self.owners, numbers)
        counts = np.searchsorted(self.owners, numbers, side="right") - begins
        places = np.repeat(np.arange(len(counts)), counts)
        rows = np.arange(counts.sum()) + np.repeat(begins - np.cumsum(counts) + counts, counts)
        return rows, places

    def padded(self, rows: Integers) -> tuple[Integers, Integers, Integers | None]:
        """R L each: the ids of some rows, which of them are real, and their types where the model is told."""
        lengths = self.lengths[rows]
        width = -(-int(lengths.max(initial=1)) // ROUND) * ROUND
        width = width if self.limit is None else min(width, self.limit)
        place = np.arange(width)
        real = place < lengths[:, None]
        where = np.where(real, (self.ends[rows] - lengths)[:, None] + place, 0)
        ids = np.where(real, self.ids[where], self.pad).astype(np.int64)
        types = np.where(real, self.types[where], 0).astype(np.int64) if self.typed else None
        return ids, real.astype(np.int64), types


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledBatches:
    """The examples of every epoch, those of like length together."""

    rows: TextRows
    targets: Reals  # N C: 1 where a label holds
    batch_size: int  # examples in a step
    seed: int

    @property
    def per_epoch(self) -> int:
        """How many examples an epoch has."""
        return len(self.targets)

    def batch(self, stretch: tuple[int, int]) -> LabelledBatch:
        """The examples from one number of the whole run to another; they may lie in two epochs, or in many."""
        numbers = self.examples(*stretch)
        rows, places = self.rows.rows_of(numbers)
        ids, real, types = self.rows.padded(rows)
        return LabelledBatch(ids=ids, real=real, types=types, owners=places, targets=self.targets[numbers])

    def examples(self, begin: int, end: int) -> Integers:
        """Which examples these numbers of the whole run are."""
        epochs, places = np.divmod(np.arange(begin, end), self.per_epoch)
        return np.array([_epoch_order(self, int(epoch))[place] for epoch, place in zip(epochs, places, strict=True)])


@lru_cache(maxsize=4)  # a step may lie in two epochs, or on few examples in more
def _epoch_order(batches: LabelledBatches, epoch: int) -> Integers:
    """The order of an epoch: at random, but a step has examples of like length, so that little of it is padding.

    Steps go on from one epoch into the next: the first examples complete a step that the one before has begun.
    """
    count, size = batches.per_epoch, batches.batch_size
    order = random_order(count, batches.seed, epoch, 1)
    lead = -epoch * count % size
    first, others = order[:lead], order[lead:]
    work = batches.rows.work
    pools = [others[begin : begin + POOL * size] for begin in range(0, len(others), POOL * size)]
    pools = [pool[np.argsort(work[pool], kind="stable")] for pool in pools]
    alike = np.concatenate(pools) if pools else others
    whole = len(alike) // size
    steps = alike[: whole * size].reshape(whole, size)[random_order(whole, batches.seed, epoch, 2)]
    return np.concatenate((first, steps.reshape(-1), alike[whole * size :]))
