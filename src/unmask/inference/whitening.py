"""Vectors out of their cone: the mean of a corpus and its strongest directions taken away.

Vectors of a model that was not tuned for sentences crowd around one direction, which says more of how frequent words
are than of what is said; any two of them have a cosine near one. What all of them share is fitted on a corpus and taken
away, of the corpus and of whatever is compared with it later (all-but-the-top, Mu and Viswanath 2018).

In: the vectors of a corpus, some at a time. Out: a `Whitening` to apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput

Vectors = NDArray[np.float32]
PER_DIRECTION = 100  # numbers of a vector for each direction that is taken away: the paper's D / 100


@dataclass(frozen=True)
class Whitening:
    """What is taken away from every vector."""

    mean: Vectors  # D
    directions: Vectors  # K D, of length one, the strongest first

    @classmethod
    def fitted(cls, blocks: Iterable[Vectors], directions: int | None = None) -> Whitening:
        """The mean and the strongest directions of vectors that come in blocks."""
        count, total, squares = 0, np.zeros(0), np.zeros((0, 0))
        for block in blocks:
            numbers = block.astype(np.float64)
            if not count:
                total, squares = np.zeros(block.shape[1]), np.zeros((block.shape[1],) * 2)
            count += len(block)
            total += numbers.sum(0)
            squares += numbers.T @ numbers
        if count < 2:
            raise BadInput("--whiten: it is fitted on the texts, and needs two at the least")
        mean = total / count
        _, vectors = np.linalg.eigh(squares / count - np.outer(mean, mean))  # the weakest first
        strongest = max(1, round(len(mean) / PER_DIRECTION)) if directions is None else directions
        return cls(mean.astype(np.float32), vectors[:, ::-1][:, :strongest].T.astype(np.float32))

    def __call__(self, vectors: Vectors) -> Vectors:
        """The vectors without what all share."""
        centred = vectors - self.mean
        return np.asarray(centred - (centred @ self.directions.T) @ self.directions, dtype=np.float32)

    def as_array(self) -> Vectors:
        """The mean and below it the directions, to be kept."""
        return np.vstack([self.mean[None], self.directions])

    @classmethod
    def of_array(cls, array: Vectors) -> Whitening:
        """What was kept."""
        return cls(array[0], array[1:])
