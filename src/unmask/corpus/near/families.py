"""Which documents are nearly the same as one that is kept.

In: the keys of documents and, of those that share one, their shingles. Out: of each document the one that is kept for
it. Documents are gone through from the longest to the shortest, and among equals in reading order. One is left out if
its exact Jaccard similarity with a document *that is kept* reaches the threshold, and is kept otherwise: nothing is
left out because of something that was itself left out, so no chain of likenesses carries a document away.

The work is bounded: a key remembers at most `MOST_KEPT` documents, and a document is compared with at most
`MOST_COMPARED`, those first with which it shares most keys. So a hundred thousand letters from one template, with other
words in each, take a hundred thousand times as long as one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unmask.corpus.near.shingles import Hashes, jaccard
from unmask.corpus.near.signatures import BANDS, Keys
from unmask.records import Flags, Integers, Reals

MOST_KEPT = 16  # documents under a key
MOST_COMPARED = 24  # documents with one


@dataclass(frozen=True)
class Families:
    """Documents with the one that is kept for each."""

    twins: Integers  # N, its own number where it is kept
    similarity: Reals  # N, with its twin; 1 where it is kept


def sharing(keys_of_band: Callable[[int], Hashes], count: int) -> Flags:
    """N: the documents that share a key with another; the keys of a band are asked for one band at a time."""
    flags = np.zeros(count, dtype=np.bool_)
    for band in range(BANDS):
        keys = keys_of_band(band)
        order = np.argsort(keys, kind="stable")
        same = keys[order][1:] == keys[order][:-1]
        flags[order[1:][same]] = True
        flags[order[:-1][same]] = True
    return flags


def find_families(
    keys: Keys, sizes: Integers, shingle_set: Callable[[int], Hashes], threshold: float, earlier: int = 0
) -> Families:
    """The families among some documents of these lengths in characters; `shingle_set` gives the shingles of one.

    So many of the first ones are kept in any case, and others left out for them.
    """
    count = len(sizes)
    twins, similarity = np.arange(count), np.ones(count)
    kept_under: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(BANDS)]
    for number in np.lexsort((np.arange(count), -sizes, np.arange(count) >= earlier)).tolist():
        own_keys = keys[number].tolist()
        shared = Counter[int]()
        for kept, key in zip(kept_under, own_keys, strict=True):
            if key in kept:
                shared.update(kept[key])
        twin, likeness = _twin(number, shared, shingle_set, threshold) if number >= earlier else (None, 0.0)
        if twin is not None:
            twins[number], similarity[number] = twin, likeness
            continue
        for kept, key in zip(kept_under, own_keys, strict=True):
            if len(kept[key]) < MOST_KEPT:
                kept[key].append(number)
    return Families(twins, similarity)


def _twin(
    number: int, shared: Counter[int], shingle_set: Callable[[int], Hashes], threshold: float
) -> tuple[int | None, float]:
    """The first of the kept documents that is similar enough, those with most keys in common first."""
    if not shared:
        return None, 0.0
    own = shingle_set(number)
    for other, _ in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:MOST_COMPARED]:
        shingles = shingle_set(other)
        if min(len(own), len(shingles)) < threshold * max(len(own), len(shingles)):
            continue
        if (likeness := jaccard(own, shingles)) >= threshold:
            return other, likeness
    return None, 0.0
