"""Texts to rows of which one vector each is made: in training, evaluation and use by this one function.

In: a tokenizer and texts. Out: `SentenceRows`. A row is what the tokenizer itself makes of a text, so that
sentence-transformers reads the same; a text that is longer than a row is read in windows that overlap, and each of its
tokens counts once, in the window where it has most context, as `unmask embed` has it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.tasks.rows import Frame, RowReader, Special
from unmask.tasks.sentence_batches import SentenceRows
from unmask.tokens.windows import read_windows


class SentenceReader(RowReader):
    """A tokenizer that makes rows of texts for their vectors."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, length: int) -> None:
        super().__init__(tokenizer, length)
        self.frames[False] = own_frame(tokenizer)

    def read_sentences(self, texts: Sequence[str]) -> SentenceRows:
        """The rows of texts, and which tokens of each row count."""
        rows, frame = self.read(texts), self.frames[False]
        begins, ends = np.zeros(len(rows.owners), np.int64), rows.lengths.copy()
        for number in np.flatnonzero(rows.windows > 1).tolist():
            first = int(np.searchsorted(rows.owners, number))
            windows = read_windows(int(rows.tokens[number]), self.length - frame.size).windows
            for place, window in enumerate(windows):
                # what opens the text counts in the first window, and what closes it in the last
                if place:
                    begins[first + place] = len(frame.before.ids) + window.judged.start
                if place < len(windows) - 1:
                    ends[first + place] = len(frame.before.ids) + window.judged.stop
        return SentenceRows(rows, begins, ends)


def own_frame(tokenizer: PreTrainedTokenizerFast) -> Frame:
    """What the tokenizer puts around a text, nothing where it puts nothing: as sentence-transformers reads it."""
    row = tokenizer("a", padding=False, return_special_tokens_mask=True)
    ids, inside = list(row["input_ids"]), np.flatnonzero(np.array(row["special_tokens_mask"]) == 0)
    first, last = (int(inside[0]), int(inside[-1]) + 1) if len(inside) else (len(ids), len(ids))
    before, after = tuple(ids[:first]), tuple(ids[last:])
    nothing = Special((), ())
    return Frame(Special(before, (0,) * len(before)), nothing, Special(after, (0,) * len(after)))
