"""Collocations of a corpus: the word sequences that no split of theirs explains (PMI-masking, Levine et al. 2021).

In goes the token stream of a split, out come its best collocations. Words are the tokenizer's, so any script works.

Out of core: the stream is passed over twice for each length, once into a sketch of counters, once to count exactly
what the sketch says can be frequent. An n-gram can only be frequent if both its (n − 1)-grams are, so what has to be
held is of the order of what is found, not of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput
from unmask.randomness import Bits
from unmask.records import Flags, Integers, Reals, TokenStream
from unmask.tokens.spans.lexicon import Members, extend_grams, word_hashes

CHUNK = 1 << 20  # tokens read at a time
SKETCH = 1 << 24  # counters, 64 MB
FRAGMENT = 1.2  # how much more often than in a longer one a collocation has to occur, to stand for itself


@dataclass(frozen=True)
class Collocation:
    """A sequence of words, how often it occurs, and how surprising its least surprising split is."""

    words: tuple[tuple[int, ...], ...]  # the token ids of each
    count: int
    score: float


class Mined(NamedTuple):
    """The collocations of a corpus, best first, and where their list ends."""

    collocations: list[Collocation]
    above: float  # the score that all of them are above
    chance: float  # the score that chance alone reaches


@dataclass(frozen=True)
class Chunk:
    """Words of a stretch of the stream."""

    hashes: Bits  # W
    starts: Integers  # W + 1, where each begins in the stream, and where the last one ends
    follows: Flags  # W - 1, whether the next word may follow in a collocation


@dataclass(frozen=True)
class Level:
    """The frequent n-grams of one length, by ascending hash."""

    hashes: Bits  # N
    counts: Integers  # N
    words: Bits  # N n, the hashes of the words
    places: Integers  # N 2, one occurrence in the stream


def mine_collocations(
    stream: TokenStream,
    breaks: Flags,
    *,
    max_words: int = 5,
    min_count: int = 10,
    above: float | None = None,
    top: int | None = None,
    step: Callable[[float], None] = lambda passes: None,
) -> Mined:
    """The collocations of 2 to `max_words` words that occur more than `min_count` times, best first.

    The list stops where the score is no longer `above`, if not given what chance alone reaches; at `top` at the latest.
    `breaks` (V flags) says which tokens no collocation contains: specials, and punctuation if it shall not.
    `step` is told of each pass over the stream; there are two for each length.
    """
    if max_words < 2 or min_count < 0 or (top is not None and top < 1):
        raise BadInput(f"longest {max_words}, least {min_count}, top {top}: give 2, 0 and 1 or more")
    levels: list[Level] = []
    for size in range(1, max_words + 1):
        frequent = Members(levels[-1].hashes) if levels else None
        levels.append(_count(lambda: _chunks(stream, breaks), size, frequent, min_count, step))
    total = int(levels[0].counts.sum())
    chance = _chance_score(stream, breaks, levels[0], total)
    least = chance if above is None else above
    collocations: list[Collocation] = []
    for level in levels[1:]:
        scores = _scores(level, levels, total)
        in_order = np.lexsort((level.hashes, -level.counts, -scores))
        for n in in_order[scores[in_order] > least][: None if top is None else 2 * top]:
            words = _words_at(stream, level.places[n])
            collocations.append(Collocation(words, int(level.counts[n]), round(float(scores[n]), 4)))
    collocations.sort(key=lambda collocation: (-collocation.score, -collocation.count, collocation.words))
    return Mined(_without_fragments(collocations)[:top], least, chance)


def _chance_score(stream: TokenStream, breaks: Flags, words: Level, total: int) -> float:
    """The best score that words can have which stand side by side by chance alone.

    If p(w) is the product of its words' shares, so is every Π p(part), and the score is log p(w): at the most that of
    the most frequent word twice. Below it, "of the" scores as "prime minister" does, for being frequent.
    """
    for n in np.argsort(-words.counts, kind="stable"):
        (word,) = _words_at(stream, words.places[n])
        if not breaks[list(word)].any():
            return round(2 * float(np.log(words.counts[n] / total)), 4)
    return 0.0


def _without_fragments(collocations: list[Collocation]) -> list[Collocation]:
    """Leave out what hardly ever occurs but inside a longer one: "Ku Klux" beside "Ku Klux Klan"."""
    counts = {collocation.words: collocation.count for collocation in collocations}
    fragments = {
        fragment
        for collocation in collocations
        for size in range(2, len(collocation.words))
        for begin in range(len(collocation.words) - size + 1)
        if counts.get(fragment := collocation.words[begin : begin + size], 0) < FRAGMENT * collocation.count
    }
    return [collocation for collocation in collocations if collocation.words not in fragments]


def _chunks(stream: TokenStream, breaks: Flags) -> Iterator[Chunk]:
    """The words of the stream; chunks end with a document wherever one is shorter than a chunk."""
    ends = stream.ends
    begin, last = 0, int(ends[-1]) if len(ends) else 0
    while begin < last:
        fits = int(np.searchsorted(ends, begin + CHUNK, side="right"))
        stop = int(ends[fits - 1]) if fits and ends[fits - 1] > begin else min(begin + CHUNK, last)
        ids, starts = stream.read(begin, stop)
        opens = np.zeros(len(ids), dtype=np.bool_)
        opens[0] = True
        inner = ends[(ends > begin) & (ends < stop)] - begin
        opens[inner] = True
        first = np.flatnonzero(starts | opens)
        fine = ~np.logical_or.reduceat(breaks[ids], first)
        follows = fine[:-1] & fine[1:] & ~opens[first[1:]]
        yield Chunk(word_hashes(ids, first), begin + np.append(first, len(ids)), follows)
        begin = stop


def _count(
    chunks: Callable[[], Iterator[Chunk]],
    size: int,
    frequent: Members | None,
    min_count: int,
    step: Callable[[float], None],
) -> Level:
    """Count the n-grams of this size, exactly, of those that can be frequent."""
    sketch = np.zeros(SKETCH, dtype=np.uint32)
    for chunk in chunks():
        grams, at = _grams(chunk, size, frequent)
        places, counts = np.unique(grams[at] & np.uint64(SKETCH - 1), return_counts=True)
        sketch[places] += counts.astype(np.uint32)
    step(1)
    level = _empty_level(size)
    for chunk in chunks():
        grams, at = _grams(chunk, size, frequent)
        at = at[sketch[grams[at] & np.uint64(SKETCH - 1)] > min_count]
        hashes, first, counts = np.unique(grams[at], return_index=True, return_counts=True)
        at = at[first]
        words = np.stack([chunk.hashes[at + nth] for nth in range(size)], axis=1)
        places = np.stack((chunk.starts[at], chunk.starts[at + size]), axis=1)
        level = _merge_levels(level, Level(hashes, counts, words, places))
    step(1)
    keep = level.counts > min_count
    return Level(level.hashes[keep], level.counts[keep], level.words[keep], level.places[keep])


def _empty_level(size: int) -> Level:
    none = np.zeros((0, size), dtype=np.uint64)
    return Level(none[:, 0], np.zeros(0, dtype=np.int64), none, np.zeros((0, 2), dtype=np.int64))


def _grams(chunk: Chunk, size: int, frequent: Members | None) -> tuple[Bits, Integers]:
    """The hashes of the chunk's n-grams, and at which words those begin that can be frequent."""
    grams, eligible = chunk.hashes, np.ones(len(chunk.hashes), dtype=np.bool_)
    shorter = grams
    for nth in range(1, size):
        last = max(len(chunk.hashes) - nth, 0)
        shorter = grams
        grams = extend_grams(grams[:last], chunk.hashes[nth:])
        eligible = eligible[:last] & chunk.follows[nth - 1 :]
    if frequent is not None:
        is_frequent = frequent.have(shorter)
        eligible &= is_frequent[:-1] & is_frequent[1:]
    return grams, np.flatnonzero(eligible)


def _merge_levels(left: Level, right: Level) -> Level:
    """Two counts as one; of an n-gram in both, the earlier occurrence is kept."""
    hashes, first, inverse = np.unique(
        np.concatenate((left.hashes, right.hashes)), return_index=True, return_inverse=True
    )
    counts = np.bincount(inverse, np.concatenate((left.counts, right.counts)), minlength=len(hashes))
    words = np.concatenate((left.words, right.words))[first]
    places = np.concatenate((left.places, right.places))[first]
    return Level(hashes, counts.astype(np.int64), words, places)


def _scores(level: Level, levels: list[Level], total: int) -> Reals:
    """min over splits of log p(w)² / Π p(part): 0 if the parts never occur without one another, below it otherwise.

    The best split is found from the left: best[j] is the likeliest way to split the first j words.
    """
    size = level.words.shape[1]
    best: list[NDArray[np.float64]] = [np.zeros(len(level.hashes))]
    for end in range(1, size + 1):
        ways = [
            best[begin] + _log_share(level.words[:, begin:end], levels, total)
            for begin in range(end)
            if (begin, end) != (0, size)
        ]
        best.append(np.max(ways, axis=0))
    score: Reals = 2 * np.log(level.counts / total) - best[size]
    return score


def _log_share(words: Bits, levels: list[Level], total: int) -> Reals:
    """log p of the n-grams with these words, all of which are frequent."""
    gram = words[:, 0]
    for nth in range(1, words.shape[1]):
        gram = extend_grams(gram, words[:, nth])
    level = levels[words.shape[1] - 1]
    share: Reals = np.log(level.counts[np.searchsorted(level.hashes, gram)] / total)
    return share


def _words_at(stream: TokenStream, place: Integers) -> tuple[tuple[int, ...], ...]:
    """The words between two places of the stream, as token ids."""
    ids, starts = stream.read(int(place[0]), int(place[1]))
    starts[0] = True
    return tuple(tuple(word.tolist()) for word in np.split(ids, np.flatnonzero(starts)[1:]))
