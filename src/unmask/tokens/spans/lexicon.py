"""Phrases known by their tokens, and where they stand in blocks.

In go phrases as the words' token ids, out come blocks with those phrases marked: `Blocks.spans`. A phrase is a
64-bit hash of its words, so finding thousands of them in a batch is a few passes over it, whatever their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unmask.corruption import units
from unmask.randomness import GOLDEN, Bits, Draws, mix_bits
from unmask.records import Blocks, Flags, Ids, Integers, Vocabulary

FILTER = 1 << 20  # places of the filter in front of a table: one access tells that most hashes are not in it


def word_hashes(ids: Ids, starts: Integers) -> Bits:
    """A hash for each word, of its ids and their order; `starts` says where in `ids` each begins."""
    place = np.arange(len(ids)) - np.repeat(starts, np.diff(starts, append=len(ids)))
    hashes = mix_bits(ids.astype(np.uint64) + (place.astype(np.uint64) + np.uint64(1)) * GOLDEN)
    return mix_bits(np.add.reduceat(hashes, starts)) if len(starts) else hashes


def extend_grams(grams: Bits, words: Bits) -> Bits:
    """Hashes of n-grams made one word longer."""
    return mix_bits(grams + words * GOLDEN + np.uint64(1))


@dataclass(frozen=True)
class Members:
    """A set of hashes that can be asked about a whole array at once."""

    table: Bits  # ascending

    @cached_property
    def _filter(self) -> Flags:
        flags = np.zeros(FILTER, dtype=np.bool_)
        flags[self.table & np.uint64(FILTER - 1)] = True
        return flags

    def have(self, hashes: Bits) -> Flags:
        """Which of these are in the set."""
        flags: Flags = self._filter[hashes & np.uint64(FILTER - 1)]
        perhaps = np.flatnonzero(flags)
        if len(self.table):
            places = np.searchsorted(self.table, hashes[perhaps])
            flags[perhaps] = self.table[np.minimum(places, len(self.table) - 1)] == hashes[perhaps]
        return flags


@dataclass(frozen=True)
class Lexicon:
    """Phrases of two words or more, by their number of words."""

    by_length: dict[int, Members]

    @classmethod
    def of(cls, phrases: Iterable[Sequence[Sequence[int]]]) -> Lexicon:
        """The phrases given as words, each given as token ids; single words are left out."""
        grams: dict[int, list[int]] = {}
        for phrase in phrases:
            if len(phrase) < 2:
                continue
            sizes = np.array([len(word) for word in phrase])
            ids = np.array([token for word in phrase for token in word], dtype=np.int32)
            words = word_hashes(ids, np.cumsum(sizes) - sizes)
            gram = words[:1]
            for nth in range(1, len(words)):
                gram = extend_grams(gram, words[nth : nth + 1])
            grams.setdefault(len(words), []).append(int(gram[0]))
        return cls({size: Members(np.unique(np.array(hashes, dtype=np.uint64))) for size, hashes in grams.items()})


def mark_phrases(blocks: Blocks, lexicon: Lexicon, vocabulary: Vocabulary, *, kind: str) -> Blocks:
    """Mark the phrases of the lexicon as spans of this kind: the longest first, then from the left.

    tokens   the   New  York  Times  of  New  York        phrases: New York, New York Times
    spans     0     1    1      1    0    2    2
    """
    words = units.words(blocks, vocabulary, Draws.of(0, 0, blocks.numbers[:0]))
    span_numbers = np.zeros(len(words.starts), dtype=np.int32)
    for size, first in _matches(blocks, words, lexicon):
        first = _without_overlaps(first, size, span_numbers)
        for nth in range(size):
            span_numbers[first + nth] = first + 1
    marks = np.zeros(blocks.ids.size, dtype=np.int32)
    marks[words.positions] = np.repeat(span_numbers, words.sizes)
    return replace(blocks, spans={**blocks.spans, kind: marks.reshape(blocks.ids.shape)})


def _matches(blocks: Blocks, words: units.Units, lexicon: Lexicon) -> list[tuple[int, Integers]]:
    """For each length, the longest first, the words at which a phrase of the lexicon begins."""
    hashes = word_hashes(blocks.ids.ravel()[words.positions], words.starts)
    follows = _follows(blocks, words)
    matches, gram, eligible = [], hashes, np.ones(len(hashes), dtype=np.bool_)
    for size in range(2, max(lexicon.by_length, default=0) + 1):
        last = len(hashes) - size + 1
        if last < 1:
            break
        gram = extend_grams(gram[:last], hashes[size - 1 :])
        eligible = eligible[:last] & follows[size - 2 :]
        if size in lexicon.by_length:
            matches.append((size, np.flatnonzero(lexicon.by_length[size].have(gram) & eligible)))
    return matches[::-1]


def _follows(blocks: Blocks, words: units.Units) -> Flags:
    """For each word but the last, whether the next one follows it at once in the same document."""
    ends = words.positions[words.starts[1:] - 1]
    begins = words.positions[words.starts[1:]]
    document = blocks.documents.ravel()
    same_row = words.rows[1:] == words.rows[:-1]
    follows: Flags = (begins == ends + 1) & same_row & (document[ends] == document[begins])
    return follows


def _without_overlaps(first: Integers, size: int, span_numbers: Ids) -> Integers:
    """Of matches of one size those that do not overlap, from the left, nor what is taken already."""
    for nth in range(size):
        first = first[span_numbers[first + nth] == 0]
    disjoint: list[Integers] = []
    while len(first):
        heads = np.diff(first, prepend=-size) >= size  # no match just before: certainly kept
        disjoint.append(first[heads])
        nearest = first[heads][np.cumsum(heads) - 1]
        first = first[first - nearest >= size]
    return np.sort(np.concatenate(disjoint)) if disjoint else first
