"""Texts as rows with the tokens that count for their vectors. Neither torch nor a tokenizer is needed here.

In: rows of ids. Out: batches of any texts, whole or padded to a common length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.records import Integers
from unmask.task_batches import TextBatch
from unmask.tasks.text_rows import TextRows


@dataclass(frozen=True, eq=False)
class SentenceRows:
    """Texts as rows, and in each row the tokens that count."""

    rows: TextRows
    begins: Integers  # R: the first place of each row that counts
    ends: Integers  # R: the place behind the last

    @property
    def tokens(self) -> Integers:
        """N: the tokens of each text."""
        return self.rows.tokens

    @property
    def windows(self) -> Integers:
        """N: the rows of each text."""
        return self.rows.windows

    @property
    def work(self) -> Integers:
        """N: the tokens of all rows of each text."""
        return self.rows.work

    def batch(self, numbers: Sequence[int] | Integers) -> TextBatch:
        """Some texts, in this order."""
        rows, owners = self.rows.rows_of(numbers)
        ids, real, _ = self.rows.padded(rows)
        place = np.arange(ids.shape[1])
        counted = (place >= self.begins[rows, None]) & (place < self.ends[rows, None])
        return TextBatch(ids=ids, real=real, counted=counted.astype(np.int64), owners=owners, texts=len(numbers))

    def only(self, numbers: Sequence[int] | Integers) -> SentenceRows:
        """Some of the texts, as if they were all."""
        rows, owners = self.rows.rows_of(numbers)
        lengths = self.rows.lengths[rows]
        begins = np.repeat(self.rows.ends[rows] - lengths - np.cumsum(lengths) + lengths, lengths)
        places = np.arange(int(lengths.sum())) + begins
        chosen = replace(
            self.rows,
            ids=self.rows.ids[places],
            types=self.rows.types[places],
            ends=np.cumsum(lengths),
            owners=owners,
            tokens=self.rows.tokens[np.asarray(numbers)],
        )
        return SentenceRows(chosen, self.begins[rows], self.ends[rows])
