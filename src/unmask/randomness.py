"""The random numbers of corruption: a function of (seed, epoch, block, purpose, position), never a stream.

In go the numbers that name a draw, out comes the draw, for a whole batch at once. Nothing is remembered
between calls, so the batch, the worker, the rank and the point of resumption cannot change an example.

The mix is the finaliser of SplitMix64 with Stafford's constants (variant 13): every bit of the input flips
each bit of the output with a probability within 0.2 % of a half.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.records import Flags, Integers

Bits = NDArray[np.uint64]
Uniform = NDArray[np.float64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ, odd: multiples of it never meet
WORD = (1 << 64) - 1


class Purpose(IntEnum):
    """What a draw is for; two purposes at the same position are independent."""

    ORDER = 1  # the order of units on the wheel
    TURN = 2  # how far the wheel is turned
    FATE = 4  # masked, random or kept
    REPLACEMENT = 5  # the random token
    LENGTH = 6  # of a run
    MIXTURE = 7  # the policy of a row in a mixture
    CUT_HIDDEN = 8  # where the hidden tokens are cut into spans
    CUT_SHOWN = 9  # and where the others are
    RANK = 10  # the order of prediction
    ROLL = 11  # how far a row is rolled
    ROUND = 12  # a count up or down to a whole one


def mix_bits(bits: Bits) -> Bits:
    """Spread every bit over all 64, one to one.

    >>> [hex(int(value)) for value in mix_bits(np.array([0, 1], dtype=np.uint64))]
    ['0x0', '0x5692161d100b05e5']
    """
    bits = bits ^ (bits >> np.uint64(30))
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


RANDOM = 19  # bits of a shuffled key that are random; the others hold the number


@dataclass(frozen=True)
class Draws:
    """The random numbers of a batch: each row has a key of its own."""

    keys: Bits  # B
    turns: Bits  # B, the block numbers as turns of the golden angle from a start that seed and epoch share

    @classmethod
    def of(cls, seed: int, epoch: int, numbers: Integers) -> Draws:
        """The draws of these blocks in this epoch."""
        key = np.zeros(1, dtype=np.uint64)
        for number in (seed, epoch):
            key = mix_bits(key + np.array([number & WORD], dtype=np.uint64) + GOLDEN)
        blocks = numbers.astype(np.uint64)
        return cls(keys=mix_bits(key + blocks + GOLDEN), turns=key + blocks * GOLDEN)

    def take(self, rows: Integers) -> Draws:
        """The draws of some rows of the batch."""
        return Draws(self.keys[rows], self.turns[rows])

    def bits(self, purpose: Purpose, rows: Integers, positions: Integers) -> Bits:
        """64 random bits for each (row of the batch, position in the row)."""
        keys = self._of(purpose)
        return mix_bits(keys[rows] + positions.astype(np.uint64) * GOLDEN)

    def uniform(self, purpose: Purpose, rows: Integers, positions: Integers) -> Uniform:
        """A number in [0, 1) for each (row of the batch, position in the row)."""
        return _unit(self.bits(purpose, rows, positions))

    def grid(self, purpose: Purpose, width: int) -> Uniform:
        """Numbers in [0, 1) for the first positions of each row."""
        return _unit(mix_bits(np.add.outer(self._of(purpose), np.arange(width, dtype=np.uint64) * GOLDEN)))

    def per_row(self, purpose: Purpose) -> Uniform:
        """One number in [0, 1) for each row, of 32 bits: sums and products with lengths are exact."""
        return (self._of(purpose) >> np.uint64(32)).astype(np.float64) * 2.0**-32

    def low_discrepancy(self) -> Uniform:
        """One number in (0, 1] for each row, spread evenly over any run of consecutive blocks.

        Additive recurrence: each turns on by the golden section, which leaves the least gaps without knowing where a
        batch ends.
        """
        return ((self.turns >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53

    def shuffle(
        self, purpose: Purpose, counts: Integers, *, halves: bool = False
    ) -> tuple[NDArray[np.unsignedinteger[Any]], Flags]:
        """For each row the numbers below its count in random order, as a grid, and where the grid is real.

        Of two numbers one is first as likely as the other, but for one pair in half a million, which keeps its order.
        With `halves` the even numbers come first, then the odd ones.
        """
        numbers = np.arange(counts.max(initial=0), dtype=np.uint32)
        keys = self._short(purpose, numbers)
        if halves:
            keys >>= np.uint32(1)
            keys |= numbers << np.uint32(31)
        # Sorting keys that carry the number in their low bits is several times as fast as argsort, and sorting
        # keys of 32 bits as fast again; longer rows get the same order from wider keys.
        keys >>= np.uint32(32 - RANDOM)
        kind: Any = np.uint32 if len(numbers) <= 1 << (32 - RANDOM) else np.uint64
        low = kind(np.iinfo(kind).bits - RANDOM)
        order = keys.astype(kind, copy=False) << low
        order |= numbers
        real = numbers < counts.astype(np.uint32)[:, None]
        order[~real] = np.iinfo(kind).max
        order.sort(axis=1)
        order &= (kind(1) << low) - kind(1)
        return order, real

    def _short(self, purpose: Purpose, numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """32 random bits for each number in each row: both halves of the row's key, and MurmurHash3's finaliser."""
        keys = self._of(purpose)
        low, high = keys.astype(np.uint32), (keys >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
        bits: NDArray[np.uint32] = np.multiply.outer(high, numbers)
        bits += low[:, None]
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            bits ^= bits >> np.uint32(shift)
            bits *= np.uint32(factor)
        bits ^= bits >> np.uint32(16)
        return bits

    def _of(self, purpose: Purpose) -> Bits:
        return mix_bits(self.keys + np.uint64(purpose * int(GOLDEN) & WORD))


def _unit(bits: Bits) -> Uniform:
    """Bits as numbers in [0, 1) of 50 bits: times a whole number below 2⁵⁰ they stay below it after rounding."""
    return (bits >> np.uint64(14)).astype(np.float64) * 2.0**-50
