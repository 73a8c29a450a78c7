"""Vectors to their nearest: products over blocks of a memory map, exact, in flat memory.

In: vectors and queries. Out: for each query the highest products and where they are; or all pairs above a cosine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.errors import Damaged
from unmask.inference.bm25 import best_of
from unmask.inference.vector_store import normalised
from unmask.records import Integers, Reals

Vectors = NDArray[np.float32]
TILE = 2_048  # rows that are compared with as many others at a time


def nearest(queries: Vectors, blocks: Iterable[tuple[int, Vectors]], count: int) -> list[tuple[Integers, Reals]]:
    """For each query the numbers of the vectors with the highest products, highest first, and the products."""
    best: list[tuple[Integers, Reals]] = [(np.zeros(0, np.int64), np.zeros(0)) for _ in queries]
    for begin, block in blocks:
        products = queries @ block.T
        _check_finite(products, begin)
        for number, row in enumerate(products):
            places, scores = best_of(row, min(count, len(row)))
            numbers, before = best[number]
            joined = np.concatenate([before, scores])
            kept = np.argsort(-joined, kind="stable")[:count]
            best[number] = np.concatenate([numbers, places + begin])[kept], joined[kept]
    return best


def pairs_above(arrays: Sequence[NDArray[Any]], cosine: float) -> Iterator[tuple[NDArray[np.int64], Reals, int]]:
    """Pairs of rows with at least this cosine: P 2, their cosines, and how many pairs were looked at; tile by tile."""
    begins = np.cumsum([0, *map(len, arrays)]).tolist()
    tiles = [
        (array[first : first + TILE], begin + first)
        for array, begin in zip(arrays, begins, strict=False)
        for first in range(0, len(array), TILE)
    ]
    for place, (tile, begin) in enumerate(tiles):
        unit = normalised(np.asarray(tile, dtype=np.float32))
        for following, other in tiles[place:]:
            products = unit @ normalised(np.asarray(following, dtype=np.float32)).T
            _check_finite(products, begin)
            rows, columns = np.nonzero(products >= cosine)
            later = columns + other > rows + begin  # each pair once
            rows, columns = rows[later], columns[later]
            pairs = np.stack([rows + begin, columns + other], axis=1).astype(np.int64)
            looked_at = products.size if other > begin else products.size // 2
            yield pairs, products[rows, columns].astype(np.float64), looked_at


def _check_finite(products: Vectors, begin: int) -> None:
    if not np.isfinite(products).all():
        raise Damaged(f"vectors from number {begin:,} on: not all are finite; `unmask verify` names the damaged file")
