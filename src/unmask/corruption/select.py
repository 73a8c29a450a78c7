"""Which units are hidden: as many as make up the rate, each as likely as any other.

In go units and a rate, out comes a flag for each unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.corruption.properties import declares
from unmask.corruption.units import Units
from unmask.errors import BadInput
from unmask.randomness import Draws, Purpose
from unmask.records import Flags, Integers, Reals

Rates = float | Reals  # one for all, or B
Order = NDArray[np.unsignedinteger[Any]]  # B U, numbers of units in their row


def systematic_sample(units: Units, rate: Rates, draws: Draws) -> Flags:
    """Systematic sampling: lay the units of a row round a wheel in random order, hide what begins in a window of it.

        wheel     │ ##able.. │ cat │ the │ un.. │ sat │        one place for each token of the row
        window         [───────────)                           rate × places long, turned at random
        hidden                 #     #

    A unit begins in the window with probability `rate`, whatever its size, its place and the row's length:
    no position is favoured and the expected rate is the asked one. What is hidden differs from the window by
    less than one unit. (Hiding units in random order until a budget is met does neither: it favours short
    units and overshoots by half a unit.)

    Where the window holds no beginning, the row hides nothing: a rate that is asked for is a mean, and a row of
    six tokens that had to hide one in every draw would hide 17 %.
    """
    return _turn(units, rate, draws, *draws.shuffle(Purpose.ORDER, units.counts))


def systematic_sample_apart(units: Units, rate: Rates, draws: Draws) -> Flags:
    """Systematic sampling, neighbours on opposite halves of the wheel: at low rates rarely hidden together.

    A unit begins in the window as likely as before; but runs that touch would look like one longer run.
    """
    return _turn(units, rate, draws, *draws.shuffle(Purpose.ORDER, units.counts, halves=True))


def _turn(units: Units, rate: Rates, draws: Draws, order: Order, real: Flags) -> Flags:
    """Turn the wheel on which the units stand in this order, and hide those that begin in the window.

    That a unit is as likely as any other rests on the turn, which is exact, and not on the order.
    """
    begin = draws.per_row(Purpose.TURN) * units.tokens
    end = begin + rate * units.tokens
    over = end >= units.tokens  # the window goes round
    first, last = _units_before(units, order, real, begin, end - units.tokens * over)
    number = last - first + units.counts * over

    hidden = np.zeros(len(units.rows), dtype=np.bool_)
    row = np.repeat(np.arange(len(number)), number)
    nth = np.arange(len(row)) + np.repeat(first - (np.cumsum(number) - number), number)
    nth -= units.counts[row] * (nth >= units.counts[row])
    hidden[units.first[row] + order[row, nth].astype(np.int64)] = True
    return hidden


def _units_before(units: Units, order: Order, real: Flags, *places: Reals) -> list[Integers]:
    """For each place on the wheels, B of them, how many units of the row begin before it."""
    if units.single:
        return [np.ceil(place).astype(np.int64) for place in places]
    sizes = units.sizes.take((order + units.first[:, None])[real])
    begins = np.cumsum(sizes) - sizes  # over the whole batch: one wheel after the other
    before = np.cumsum(units.tokens) - units.tokens
    return [np.searchsorted(begins, before + place) - units.first for place in places]


@declares(timed=True)
def systematic_sample_timed(units: Units, rate: Rates, draws: Draws) -> Flags:
    """Hide ⌈t × tokens⌉ of a row, at a time t ~ U(0, rate] of its own (LLaDA, Nie et al. 2025; MDLM).

    Hiding each token with probability t gives every number of hidden tokens the same share of the bound, so
    here the number itself is uniform: the same expectation, less noise. Times are spread evenly over
    consecutive blocks, which is what drawing them antithetically over a batch is for.
    """
    number = np.ceil(draws.low_discrepancy() * rate * units.tokens)
    return systematic_sample(units, number / np.maximum(units.tokens, 1), draws)


def random_segmentation(units: Units, rate: float, draws: Draws, *, mean: float = 3.0, rolled: bool = True) -> Flags:
    """Hide spans of random lengths between stretches of random lengths (T5, Raffel et al. 2020, §3.1.4).

        shown, cut in 2      a b c │ d e f g
        hidden, cut in 2     x y │ z
        interleaved          a b c x y d e f g z
        rolled by 3          g z … : without rolling, a row would always end in a hidden span

    Hidden are n = rate × tokens, in n / mean spans. Unrolled, n is rounded as in T5, to 1 at least; rolled, it is
    rounded up or down at random, so that the rate of short rows does not drift: some of them hide nothing.
    """
    if mean < 1:
        raise BadInput(f"mean {mean} is the average length of a hidden span: at least 1")
    tokens = units.tokens
    if rolled:
        targets = np.floor(rate * tokens + draws.per_row(Purpose.ROUND))
    else:
        targets = np.maximum(np.rint(rate * tokens), rate > 0)
    hidden = np.minimum(targets.astype(np.int64), np.maximum(tokens - 1, 1)) * (tokens > 0)
    shown = tokens - hidden
    spans = np.rint(hidden / mean).astype(np.int64)
    spans = np.maximum(np.minimum(spans, np.minimum(hidden, shown)), 1) * (tokens > 0)

    lengths = np.empty((spans.sum(), 2), dtype=np.int64)
    lengths[:, 0] = _random_cuts(shown, spans, Purpose.CUT_SHOWN, draws)
    lengths[:, 1] = _random_cuts(hidden, spans, Purpose.CUT_HIDDEN, draws)
    flags = np.repeat(np.tile([False, True], len(lengths)), lengths.ravel())
    if not rolled:
        return flags
    back = units.numbers - (draws.per_row(Purpose.ROLL) * tokens).astype(np.int64)[units.rows]
    back += tokens[units.rows] * (back < 0)
    return flags[units.first[units.rows] + back]


def _random_cuts(lengths: Integers, counts: Integers, purpose: Purpose, draws: Draws) -> Integers:
    """Cut each row's things into so many non-empty runs, every way as likely: the lengths, row after row."""
    order, _ = draws.shuffle(purpose, np.maximum(lengths - 1, 0))
    row, nth = np.nonzero(np.arange(order.shape[1]) < (counts - 1)[:, None])
    end = np.cumsum(lengths)
    begin = end - lengths
    cuts = np.concatenate((begin[counts > 0], begin[row] + 1 + order[row, nth].astype(np.int64)))
    cuts.sort()
    return np.diff(cuts, append=end[-1:])
