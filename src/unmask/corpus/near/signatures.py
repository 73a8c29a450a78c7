"""MinHash signatures (Broder 1997) in bands: texts that are nearly the same have a band in common.

In: the shingles of texts. Out: sixteen keys each, one for a band of eight minima. Two texts of similarity s share a key
with probability 1 − (1 − s⁸)¹⁶: 0.994 at 0.85, 0.24 at 0.6. What shares one is a candidate, and is verified.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmask.corpus.near.shingles import Hashes, Shingles
from unmask.records import Integers

BANDS, ROWS = 16, 8
BLOCK = 1 << 15  # shingles at a time: their hashes stay in a processor's cache

Keys = NDArray[np.uint64]  # N BANDS

_random = np.random.Generator(np.random.Philox(key=8_128))  # fixed for good: keys of parts are compared
FLIPS = _random.integers(0, 1 << 32, BANDS * ROWS, dtype=np.uint32)
FACTORS = _random.integers(0, 1 << 32, BANDS * ROWS, dtype=np.uint32) | np.uint32(1)
WEIGHTS = _random.integers(0, 1 << 63, ROWS, dtype=np.uint64) | np.uint64(1)


def band_keys(shingles: Shingles) -> Keys:
    """The keys of each text; those of a text without shingles are of no use."""
    counts = np.diff(shingles.ends, prepend=0)
    keys = np.zeros((len(counts), BANDS), np.uint64)
    (present,) = np.nonzero(counts)
    begin = 0
    while begin < len(present):
        # Whole texts of about a block; a longer one is alone.
        first = shingles.ends[present[begin]] - counts[present[begin]]
        end = max(begin + 1, int(np.searchsorted(shingles.ends[present], first + BLOCK, side="right")))
        rows = present[begin:end]
        hashes = shingles.hashes[first : shingles.ends[rows[-1]]]
        starts = shingles.ends[rows] - counts[rows] - first
        keys[rows] = _keys(_minima(hashes, starts))
        begin = end
    return keys


def _minima(hashes: Hashes, starts: Integers) -> NDArray[np.uint32]:
    """N 128: of each text the least of its hashes, under each of 128 permutations."""
    halves = (hashes >> np.uint64(32)).astype(np.uint32)
    permuted = np.empty_like(halves)
    minima = np.empty((BANDS * ROWS, len(starts)), np.uint32)
    for number, (flip, factor) in enumerate(zip(FLIPS, FACTORS, strict=True)):
        np.bitwise_xor(halves, flip, out=permuted)
        np.multiply(permuted, factor, out=permuted)
        np.minimum.reduceat(permuted, starts, out=minima[number])
    return minima.T


def _keys(minima: NDArray[np.uint32]) -> Keys:
    bands = minima.reshape(-1, BANDS, ROWS).astype(np.uint64)
    keys: Keys = ((bands + np.uint64(1)) * WEIGHTS).sum(axis=2, dtype=np.uint64)
    keys ^= keys >> np.uint64(29)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    return keys
