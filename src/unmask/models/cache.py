"""Large tensors a few rows at a time: what is done to rows that lie in the processor's cache is done at its speed."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

CACHED = 1 << 18  # numbers that a core works on at a time: 1 MB of float32, what its second cache holds


def few_rows(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The rows of tensors that have equally many, as many at a time as the caches of a CPU's cores hold.

    On other devices all of them at once. How large a row is, is told by the first tensor.

    >>> wide, narrow = torch.empty(5, CACHED * torch.get_num_threads() // 2), torch.empty(5)
    >>> [tuple(map(len, few)) for few in few_rows(wide, narrow)]
    [(2, 2), (2, 2), (1, 1)]
    """
    rows, numbers = len(tensors[0]), max(1, tensors[0].numel())
    if tensors[0].device.type != "cpu" or rows == 0:
        return iter((tensors,))
    size = max(1, CACHED * torch.get_num_threads() * rows // numbers)
    return zip(*(tensor.split(size) for tensor in tensors), strict=True)
