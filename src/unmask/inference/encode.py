"""Texts to the rows that a model is asked with: the tokens of training, an opening and a closing one around them.

In: a loaded model and texts. Out: a `Row` for each. The ids are those that training and evaluation have of the same
text, because one function encodes for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.models.load import LoadedModel
from unmask.records import Ids
from unmask.tokens.tokenizer.encode import encode


class Row(NamedTuple):
    """One text as a model takes it."""

    ids: Ids  # L, with the opening and the closing token
    offsets: NDArray[np.int32]  # L 2, the first character of each and the one after its last; 0 0 at both ends


def encode_rows(lm: LoadedModel, texts: Sequence[str], *, blanks: bool = False) -> list[Row]:
    """Texts as rows; a text never spells a special token, except for the mask, where texts have blanks."""
    keep = frozenset({lm.vocabulary.mask}) if blanks else frozenset[int]()
    start, end = np.int32(lm.vocabulary.start), np.int32(lm.vocabulary.end)
    rows = []
    for row in encode(lm.tokenizer, texts, offsets=True, keep=keep):
        assert row.offsets is not None  # asked for
        rows.append(Row(np.r_[start, row.ids, end], np.pad(row.offsets, ((1, 1), (0, 0)))))
    return rows
