"""The random numbers of corruption: a function of (seed, epoch, block, purpose, position), never a stream.

In go the numbers that name a draw, out comes the draw, for a whole batch at once. Nothing is remembered
between calls, so the batch, the worker, the rank and the point of resumption cannot change an example.

The mix is the finaliser of SplitMix64 with Stafford's constants (variant 13): every bit of the input flips
each bit of the output with a probability within 0.2 % of a half.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from unmask.records import Integers

Bits = NDArray[np.uint64]
Uniform = NDArray[np.float64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ, odd: multiples of it never meet
WORD = (1 << 64) - 1


class Stream(IntEnum):
    """What a draw is for; two purposes at the same position are independent."""

    ORDER = 1  # the order of units on the wheel
    TURN = 2  # how far the wheel is turned
    FORCED = 3  # the unit hidden where the window holds none
    FATE = 4  # masked, random or kept
    REPLACEMENT = 5  # the random token
    LENGTH = 6  # of a run
    PART = 7  # the policy of a row in a mixture
    CUT_HIDDEN = 8  # where the hidden tokens are cut into spans
    CUT_SHOWN = 9  # and where the others are
    RANK = 10  # the order of prediction
    TIME = 11  # the time of diffusion


def mix(bits: Bits) -> Bits:
    """Spread every bit over all 64, one to one.

    >>> [hex(int(value)) for value in mix(np.array([0, 1], dtype=np.uint64))]
    ['0x0', '0x5692161d100b05e5']
    """
    bits = bits ^ (bits >> np.uint64(30))
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


@dataclass(frozen=True)
class Draws:
    """The random numbers of a batch: each row has a key of its own."""

    keys: Bits  # B

    @classmethod
    def of(cls, seed: int, epoch: int, numbers: Integers) -> Draws:
        """The draws of these blocks in this epoch."""
        key = np.zeros(1, dtype=np.uint64)
        for part in (seed, epoch):
            key = mix(key + np.array([part & WORD], dtype=np.uint64) + GOLDEN)
        return cls(mix(key + numbers.astype(np.uint64) + GOLDEN))

    def bits(self, stream: Stream, rows: Integers, positions: Integers) -> Bits:
        """64 random bits for each (row of the batch, position in the row)."""
        keys = self._of(stream)
        return mix(keys[rows] + positions.astype(np.uint64) * GOLDEN)

    def uniform(self, stream: Stream, rows: Integers, positions: Integers) -> Uniform:
        """Numbers in [0, 1) of 50 bits: times a whole number below 2⁵⁰ they stay below it after rounding."""
        return (self.bits(stream, rows, positions) >> np.uint64(14)).astype(np.float64) * 2.0**-50

    def per_row(self, stream: Stream) -> Uniform:
        """One number in [0, 1) for each row, of 32 bits: sums and products with lengths are exact."""
        return (self._of(stream) >> np.uint64(32)).astype(np.float64) * 2.0**-32

    def _of(self, stream: Stream) -> Bits:
        return mix(self.keys + np.uint64(stream * int(GOLDEN) & WORD))
