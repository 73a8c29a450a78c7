"""Texts as the rows that a model takes: what every task batches. Neither torch nor a tokenizer is needed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.records import Ids, Integers
from unmask.tokens.bucket import rounded_width


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
        width = rounded_width(int(lengths.max(initial=1)))
        width = width if self.limit is None else min(width, self.limit)
        place = np.arange(width)
        real = place < lengths[:, None]
        where = np.where(real, (self.ends[rows] - lengths)[:, None] + place, 0)
        ids = np.where(real, self.ids[where], self.pad).astype(np.int64)
        types = np.where(real, self.types[where], 0).astype(np.int64) if self.typed else None
        return ids, real.astype(np.int64), types
