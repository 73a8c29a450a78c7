"""Rows of like length together, so that little of a batch is padding.

In: how long each row is, and how much a forward pass takes. Out: the numbers of the rows of each batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unmask.records import Integers

LARGEST_STEP = 16  # rows are padded to multiples of it, the shorter the smaller: a kernel is kept for each shape


def batches_by_length(
    lengths: Sequence[int] | Integers,
    *,
    tokens: int,
    rows: int | None = None,
    padding: float = 1.0,
    least: int = 0,
) -> Iterator[Integers]:
    """Every row once, the shortest first; a batch padded to its longest row has at most `tokens` tokens, or one row.

    A batch that has at least `least` tokens ends before more than the share `padding` of it would be padding.

    >>> [batch.tolist() for batch in batches_by_length([5, 2, 9, 2, 4], tokens=10)]
    [[1, 3], [4, 0], [2]]
    >>> [batch.tolist() for batch in batches_by_length([5, 2, 9, 2, 4], tokens=99, padding=0.1)]
    [[1, 3], [4, 0], [2]]
    """
    sizes = np.asarray(lengths)
    order = np.argsort(sizes, kind="stable")
    max_rows = len(order) if rows is None else max(rows, 1)
    begin = real = 0
    for end, size in enumerate(sizes[order].tolist()):  # the longest of a batch is its last row
        padded = (end + 1 - begin) * size
        wasteful = real >= least and padded - real - size > padding * padded
        if begin < end and (end - begin == max_rows or padded > tokens or wasteful):
            yield order[begin:end]
            begin, real = end, 0
        real += size
    if begin < len(order):
        yield order[begin:]


def rounded_width(width: int) -> int:
    """A width that few others are, at most a sixteenth above: a multiple of a power of two.

    >>> [rounded_width(width) for width in (1, 29, 32, 33, 65, 131, 300)]
    [1, 29, 32, 34, 68, 136, 304]
    """
    step = min(LARGEST_STEP, 1 << max(0, (width - 1).bit_length() - 5))
    return -(-width // step) * step
