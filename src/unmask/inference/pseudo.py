"""Pseudo-log-likelihood, within words from left to right (Kauf & Ivanova 2023; Salazar et al. 2020).

    PLL = Σ_i log p(x_i | text without i and without the later pieces of its word)

In: passages. Out: the rows that a masked language model is asked with. Hiding a piece alone would let the others of its
word give it away, and rare words of many pieces would look likely.

    exact        un [M] it     [M] [M] it     un ##do [M]        a row for each token
    stride 2     [M] [M] it .  un [M] it .    …                  every second word at once, a row for each of its pieces

A stride is an approximation: words hidden together do not see each other. It takes `stride` × the pieces of the longest
word rows, however long the text is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unmask.inference.hidden_rows import HiddenRow
from unmask.inference.passages import Passage
from unmask.records import Ids, Integers, Vocabulary
from unmask.tokens.windows import Reading, Window


def pseudo_rows(
    number: int, passage: Passage, reading: Reading, vocabulary: Vocabulary, stride: int | None = None
) -> Iterator[HiddenRow]:
    """The rows of a passage, window by window; with a stride, several words hidden in each."""
    stops = passage.stops
    for window in reading.windows:
        places = np.arange(max(window.first, passage.first), min(window.last, passage.last))
        if not len(places):
            continue
        row = window_row(passage.ids, window, vocabulary)
        groups = ([place] for place in places.tolist()) if stride is None else _strided(passage, places, stride)
        for group in groups:
            asked = np.array(group)
            hidden = row.copy()
            for place in group:
                hidden[place - window.begin + 1 : min(stops[place], window.end) - window.begin + 1] = vocabulary.mask
            yield HiddenRow(number, hidden, asked - window.begin + 1, passage.ids[asked], asked)


def window_row(ids: Ids, window: Window, vocabulary: Vocabulary) -> Ids:
    """What a window sees, opened and closed."""
    row: Ids = np.r_[np.int32(vocabulary.start), ids[window.begin : window.end], np.int32(vocabulary.end)]
    return row


def _strided(passage: Passage, places: Integers, stride: int) -> Iterator[list[int]]:
    """Tokens that are asked for together: the n-th pieces of every stride-th word."""
    opens = passage.starts[places].copy()
    opens[0] = True  # a window may begin inside a word
    words = np.split(places, np.flatnonzero(opens)[1:])
    for offset in range(min(stride, len(words))):
        together = words[offset::stride]
        for piece in range(max(map(len, together))):
            yield [int(word[piece]) for word in together if piece < len(word)]
