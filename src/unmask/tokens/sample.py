"""Groups of documents, such as languages, trained on more evenly than the text has them.

In: pieces and the group of each document. Out: the pieces of an epoch, some left out, some taken several times.

A group with a share p of the tokens gets the share q ∝ p^α (Lample & Conneau 2019; XLM-R, Conneau et al. 2020, has
α = 0.3), or the one that was asked for (`prepare --mix`). Of each group and each length an epoch takes a fixed number
of pieces, so that every epoch has as many blocks as any other; which of them it takes is a function of (seed, epoch).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmask.records import Integers, Reals
from unmask.tokens.pack import Pieces, random_order

ALPHA = 0.3


@dataclass(frozen=True)
class Sampling:
    """The group of each document, and how much of the difference in size between groups is kept: 1 is all of it.

    Where groups have weights, their shares are those, whatever their sizes.
    """

    groups: Integers  # by document
    alpha: float = ALPHA
    weights: Reals | None = None  # by group

    def shares(self, sizes: Integers | Reals) -> Reals:
        """The share of each group in the tokens of an epoch."""
        if self.weights is None:
            return smoothed_shares(sizes, self.alpha)
        return smoothed_shares(np.where(sizes > 0, self.weights[: len(sizes)], 0.0), 1.0)


def smoothed_shares(sizes: Integers | Reals, alpha: float = ALPHA) -> Reals:
    """The share of each group: proportional to its size to the power of α; what is empty has none.

    >>> smoothed_shares(np.array([1000, 10, 0])).round(3).tolist()
    [0.799, 0.201, 0.0]
    """
    weights = np.where(sizes > 0, np.where(sizes > 0, sizes, 1).astype(np.float64) ** alpha, 0.0)
    shares: Reals = weights / max(weights.sum(), 1e-300)
    return shares


def sample_pieces(pieces: Pieces, sampling: Sampling, *, seed: int, epoch: int) -> Pieces:
    """The pieces of an epoch: about as many tokens as there are, shared among the groups as α says."""
    group = sampling.groups[pieces.documents]
    tokens = np.bincount(group, weights=pieces.lengths)
    rate = sampling.shares(tokens) * tokens.sum() / np.maximum(tokens, 1)

    order = random_order(len(group), seed, epoch, 2)
    order = order[np.lexsort((pieces.lengths[order], group[order]))]  # alike ones together, in a random order
    alike = np.stack((group[order], pieces.lengths[order]))
    first = np.flatnonzero(np.any(np.diff(alike, prepend=-1) != 0, axis=0))
    sizes = np.diff(first, append=len(order))
    # rounding the running total leaves each group within a piece of its share
    quotas = np.diff(np.rint(np.cumsum(rate[alike[0, first]] * sizes)), prepend=0).astype(np.int64)

    nth = np.arange(len(order)) - np.repeat(first, sizes)
    times = np.repeat(quotas // np.maximum(sizes, 1), sizes) + (nth < np.repeat(quotas % np.maximum(sizes, 1), sizes))
    numbers = np.repeat(order, times)
    return Pieces(pieces.starts[numbers], pieces.lengths[numbers], pieces.documents[numbers])
