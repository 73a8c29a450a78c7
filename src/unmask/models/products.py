"""Products of states and weights that are not changed any more, in the precision of the weights.

In: states in float32, and a matrix in float32 or bfloat16. Out: float32 again; nothing is cast where both are alike.
"""

from __future__ import annotations

import torch
from torch import Tensor

VERY_FEW = 12  # tokens, up to which a product is a matter of reading the weights
PIECES = 16  # in which they are read then: MKL takes twice as long over the whole of them


def times(states: Tensor, weight: Tensor) -> Tensor:
    """T×O of T×I states and an I×O matrix, computed in the precision of the matrix."""
    return states @ weight if states.dtype == weight.dtype else (states.to(weight.dtype) @ weight).to(states.dtype)


def plus_times(sums: Tensor, states: Tensor, weight: Tensor) -> Tensor:
    """The same, and something to which it is added."""
    if states.dtype == weight.dtype == sums.dtype:
        return torch.addmm(sums, states, weight)
    return sums + states.to(weight.dtype) @ weight


def product(states: Tensor, weight: Tensor) -> Tensor:
    """T×O of T×I states and an O×I matrix, in the way that is fastest for so many of them."""
    if states.size(0) > VERY_FEW or weight.size(0) % PIECES or states.dtype != weight.dtype:
        return times(states, weight.T)
    pieces = weight.unflatten(0, (PIECES, -1))
    return torch.bmm(pieces, states.T.expand(PIECES, -1, -1)).flatten(0, 1).T.contiguous()
