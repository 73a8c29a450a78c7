"""The units of texts: their words, or the characters of scripts without spaces and what stands between these.

In: texts. Out: for each the hashes and lengths of its units, and what is counted of them. Many texts are looked at
together, as one array of characters, because a web page is too short to be worth a dozen array operations of its own.
A unit is never made a string: what repeats is told by hashes of 64 bits.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.corpus.near.shingles import LAST, Hashes, characters_of, mix_bits, powers_of_base
from unmask.records import Flags, Integers
from unmask.words import UNSPACED

PRIME = np.uint64(0x9E3779B97F4A7C55)
SPACE, LETTER, ALONE = 0, 2, 4  # of a character: what it is, as bits; 1 is anything else


class TextUnits(NamedTuple):
    """What runs of a text are made of."""

    hashes: Hashes  # of each unit
    lengths: Integers  # the characters of each
    characters: int  # of all units
    with_letter: int  # units
    unspaced_characters: int  # those of scripts without spaces, wherever they stand
    unspaced: bool  # whether words cannot be told by spaces, so that each of these characters is a unit


@cache
def _kinds() -> NDArray[np.uint8]:
    """What each character is."""
    kinds = np.ones(sys.maxunicode + 1, np.uint8)
    kinds[:LAST] = [SPACE if character.isspace() else 1 + character.isalpha() for character in map(chr, range(LAST))]
    for first, last in UNSPACED:
        kinds[ord(first) : ord(last) + 1] |= ALONE
    return kinds


def units_of(texts: Sequence[str]) -> list[TextUnits]:
    """The units of each of some texts that fit in memory together.

    >>> (units,) = units_of(["It rained, on 3 days"])
    >>> units.lengths.tolist(), units.with_letter, units.unspaced
    ([2, 7, 2, 1, 4], 4, False)
    """
    points = characters_of(" ".join([*texts, ""]))
    kinds = _kinds()[points]
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    borders = np.concatenate(([0], np.cumsum(sizes + 1)))
    in_word, alone, characters, unspaced = _unspaced(kinds, sizes, borders)
    # A unit begins where none was, and ends where none goes on; a character that is one by itself does both.
    begins, ends = in_word.copy(), in_word.copy()
    begins[1:] &= ~in_word[:-1]
    ends[:-1] &= ~in_word[1:]
    if alone is not None:
        begins |= alone
        ends |= alone
    starts, stops = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    lengths = stops - starts
    hashes = _hashes(points, starts, stops)
    has_letter = np.bitwise_or.reduceat(kinds, starts) & LETTER > 0 if len(starts) else np.zeros(0, np.bool_)
    places = np.searchsorted(starts, borders).tolist()
    letters = np.concatenate(([0], np.cumsum(has_letter)))[places]
    totals = np.concatenate(([0], np.cumsum(lengths)))[places]
    counts = zip(
        np.diff(totals).tolist(), np.diff(letters).tolist(), characters.tolist(), unspaced.tolist(), strict=True
    )
    return [
        TextUnits(hashes[begin:end], lengths[begin:end], *count)
        for (begin, end), count in zip(pairwise(places), counts, strict=True)
    ]


def _unspaced(
    kinds: NDArray[np.uint8], sizes: Integers, borders: Integers
) -> tuple[Flags, Flags | None, Integers, Flags]:
    """Which characters are of words, which are units by themselves; how many each text has, and if they are so."""
    in_word = kinds > 0
    places = np.flatnonzero(kinds >= ALONE)
    characters = np.diff(np.searchsorted(places, borders))
    unspaced = 4 * characters > sizes
    if not unspaced.any():
        return in_word, None, characters, unspaced
    alone = (kinds >= ALONE) & np.repeat(unspaced, sizes + 1)
    return in_word & ~alone, alone, characters, unspaced


def _hashes(points: NDArray[np.uint32], starts: Integers, stops: Integers) -> Hashes:
    powers, inverses = powers_of_base(len(points))
    sums = np.zeros(len(points) + 1, np.uint64)
    np.cumsum(points * powers[: len(points)], out=sums[1:])
    return mix_bits((sums[stops] - sums[starts]) * inverses[starts] + (stops - starts).view(np.uint64) * PRIME)
