"""Blocks packed with documents of given lengths, for tests that need to know who stands beside whom."""

from __future__ import annotations

import numpy as np

from unmask.records import Blocks


def packed_blocks(*rows: tuple[int, ...], width: int = 0) -> Blocks:
    """A row for each tuple of document lengths: each opens with 2, closes with 3 and has ids from 5 to 96 between."""
    ids = np.zeros((len(rows), max(width, *map(sum, rows))), dtype=np.int32)
    documents = np.zeros_like(ids)
    rng = np.random.default_rng(0)
    for row, lengths in enumerate(rows):
        column = 0
        for number, length in enumerate(lengths, start=1):
            inside = slice(column, column + length)
            ids[row, inside] = [2, *rng.integers(5, 97, length - 2), 3]
            documents[row, inside] = number
            column += length
    return Blocks(ids, ids > 4, documents, np.arange(len(rows)), epoch=0)
