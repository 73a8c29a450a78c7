"""Near vectors without looking at all of them: an inverted file of faiss, an extra.

In: the vectors of an index. Out: a file, and how much of what an exact search finds it finds: cells are looked into
until, on a sample of the vectors themselves, that is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput, Damaged
from unmask.inference.vector_store import array_blocks
from unmask.progress import task
from unmask.records import Integers, Reals

ENOUGH = 0.95  # of the ten nearest
SAMPLE = 256  # vectors that it is measured on
PER_CELL = 64  # vectors that a cell is learnt from


@dataclass(frozen=True)
class FaissFacts:
    """What is known of a faiss index."""

    file: str
    cells: int
    looked_into: int  # for each query
    recall: float  # of the ten nearest, on a sample


def check_faiss() -> None:
    """Say in one line how to get it where it is missing."""
    if find_spec("faiss") is None:
        raise BadInput("faiss is not installed: pip install 'unmask[faiss]'; without --faiss search is exact")


def write_faiss(arrays: Sequence[NDArray[Any]], path: Path) -> FaissFacts:
    """Write an index of all vectors, in their order."""
    check_faiss()
    import faiss

    count, width = sum(map(len, arrays)), arrays[0].shape[1]
    cells = int(max(1, min(4 * count**0.5, count / PER_CELL)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, cells, faiss.METRIC_INNER_PRODUCT)
    with task("Building faiss", total=count) as step:
        index.train(_spread(arrays, cells * PER_CELL))
        for array in arrays:
            for _, block in array_blocks(array):
                index.add(block)
                step(len(block), note=f"{cells:,} cells")
    looked_into, recall = _looked_into(index, _spread(arrays, SAMPLE), arrays, cells)
    index.nprobe = looked_into
    faiss.write_index(index, str(path))
    return FaissFacts(path.name, cells, looked_into, recall)


def _spread(arrays: Sequence[NDArray[Any]], count: int) -> NDArray[np.float32]:
    """About so many vectors from all over."""
    every = max(1, sum(map(len, arrays)) // max(1, count))
    return np.concatenate([np.asarray(array[::every], dtype=np.float32) for array in arrays])


def _looked_into(
    index: Any, queries: NDArray[np.float32], arrays: Sequence[NDArray[Any]], cells: int
) -> tuple[int, float]:
    """How many cells have to be looked into to find enough of the ten nearest, and the share that is found."""
    from unmask.inference.dense import nearest

    before, exact = 0, []
    for array in arrays:
        blocks = ((before + begin, block) for begin, block in array_blocks(array))
        exact.append(nearest(queries, blocks, 10))
        before += len(array)
    true = []
    for found in zip(*exact, strict=True):
        numbers, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        true.append(set(numbers[np.argsort(-scores, kind="stable")[:10]].tolist()))
    probes = 1
    while True:
        index.nprobe = probes
        rows = index.search(queries, 10)[1]
        recall = float(
            np.mean([len(known & set(row.tolist())) / len(known) for known, row in zip(true, rows, strict=True)])
        )
        if recall >= ENOUGH or probes >= cells:
            return probes, recall
        probes = min(2 * probes, cells)


class FaissIndex:
    """A faiss index, loaded."""

    def __init__(self, path: Path, looked_into: int) -> None:
        import faiss

        try:
            self.index = cast(Any, faiss.read_index(str(path)))
        except RuntimeError as error:
            raise Damaged(f"{path}: cannot be read by faiss; make the index again") from error
        self.index.nprobe = looked_into

    def nearest(self, queries: NDArray[np.float32], count: int) -> list[tuple[Integers, Reals]]:
        """For each query the numbers of near vectors, nearest first, and their products."""
        scores, numbers = self.index.search(queries, count)
        return [
            (row[row >= 0].astype(np.int64), score[row >= 0].astype(np.float64))
            for row, score in zip(numbers, scores, strict=True)
        ]
