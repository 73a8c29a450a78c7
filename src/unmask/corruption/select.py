"""Which units are hidden: as many as make up the rate, each as likely as any other.

In go units and a rate, out comes a flag for each unit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmask.corruption.randomness import Draws, Stream
from unmask.corruption.units import Units
from unmask.records import Flags, Integers

Rates = float | NDArray[np.float64]  # one for all, or B

NUMBER = np.uint64((1 << 20) - 1)  # low bits of a key, for the unit's number: rows of up to a million tokens


def wheel(units: Units, rate: Rates, draws: Draws, *, apart: bool = False) -> Flags:
    """Lay the units of a row round a wheel in random order, and hide those that begin in a window of it.

        wheel     │ ##able.. │ cat │ the │ un.. │ sat │        one place for each token of the row
        window         [───────────)                           rate × places long, turned at random
        hidden                 #     #

    A unit begins in the window with probability `rate`, whatever its size, its place and the row's length:
    no position is favoured and the expected rate is the asked one. What is hidden differs from the window by
    less than one unit. (Hiding units in random order until a budget is met does neither: it favours short
    units and overshoots by half a unit.)

    Where the window holds no beginning, one unit is hidden, each as likely: every row predicts something.
    `apart` keeps neighbours on opposite halves of the wheel: at low rates they are rarely hidden together.
    """
    rates = np.broadcast_to(np.asarray(rate, dtype=np.float64), units.counts.shape)
    order, real = _shuffled(units, draws, apart=apart)
    turned = _places(units, order, real) - (draws.per_row(Stream.TURN) * units.tokens)[:, None]
    turned += units.tokens[:, None] * (turned < 0)
    inside = (turned < (rates * units.tokens)[:, None]) & real

    hidden = np.zeros(len(units.rows), dtype=np.bool_)
    hidden[order[inside]] = True
    empty = np.flatnonzero(~inside.any(axis=1) & (units.counts > 0) & (rates > 0))
    forced = draws.per_row(Stream.FORCED)[empty] * units.counts[empty]
    hidden[units.first[empty] + forced.astype(np.int64)] = True
    return hidden


def _shuffled(units: Units, draws: Draws, *, apart: bool) -> tuple[Integers, Flags]:
    """The units of each row in random order, as a grid of their indices, and where the grid is real."""
    keys = draws.bits(Stream.ORDER, units.rows, units.numbers)
    if apart:
        keys >>= np.uint64(1)
        keys |= (units.numbers & 1).astype(np.uint64) << np.uint64(63)
    # Sorting keys that carry the number in their low bits is several times as fast as argsort.
    keys &= ~NUMBER
    keys |= units.numbers.astype(np.uint64)
    real = np.arange(units.counts.max(initial=0)) < units.counts[:, None]
    grid = np.full(real.shape, np.iinfo(np.uint64).max)
    grid[real] = keys
    grid.sort(axis=1)
    grid &= NUMBER
    order = grid.view(np.int64)
    order += units.first[:, None]
    return order, real


def _places(units: Units, order: Integers, real: Flags) -> Integers:
    """Where on the wheel each unit of the grid begins: after all the tokens of those before it."""
    if units.single:
        return np.arange(order.shape[1])
    sizes = units.sizes[np.where(real, order, 0)] * real
    return np.cumsum(sizes, axis=1) - sizes
