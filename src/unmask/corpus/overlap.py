"""Which texts are in other text already: word for word, nearly, or by runs of eight words.

In: some texts, and other text to look for them in. Out: what was found of each. Texts are compared by their words in
lower case, so that case, punctuation and spacing hide nothing.

    exact    the same words
    near     character 5-grams with a Jaccard similarity of 0.7 or more; candidates by prefix filtering, which misses
             none (Chaudhuri et al. 2006), each verified
    runs     of the runs of eight words of a text, the share that stands in the other text, wherever there; a text of
             five to seven words is one run, and of fewer words nobody can say
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from unmask.records import Flags, Integers, Reals
from unmask.words import spelt_words

RUN, SHORTEST = 8, 5  # words in a run, and in the shortest text that is looked for
SHINGLE = 5  # characters
NEAR = 0.7  # Jaccard similarity from which on texts are near
TOGETHER = 20_000  # texts that near ones are looked for in at a time
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ: consecutive numbers are spread evenly by it

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class NearText:
    """The most similar of other texts."""

    number: int  # of the other text
    similarity: float


def exact_texts(texts: Sequence[str], others: Iterable[str]) -> Flags:
    """N: which texts have the same words as one of the others."""
    known = {" ".join(spelt_words(other)) for other in others}
    return np.array([" ".join(spelt_words(text)) in known for text in texts], dtype=np.bool_)


def near_texts(texts: Sequence[str], others: Iterable[str], least: float = NEAR) -> list[NearText | None]:
    """For each text the most similar of the others, if one is similar enough."""
    found: list[NearText | None] = [None] * len(texts)
    wanted = [_shingles(text) for text in texts]
    remaining, begin = iter(others), 0
    while group := list(islice(remaining, TOGETHER)):
        for number, best in _nearest(wanted, [_shingles(other) for other in group], least):
            before = found[number]
            if before is None or best.similarity > before.similarity:
                found[number] = NearText(best.number + begin, best.similarity)
        begin += len(group)
    return found


class Runs:
    """Runs of words of some texts, to be looked for in any amount of other text."""

    def __init__(self, texts: Sequence[str]) -> None:
        words = [spelt_words(text) for text in texts]
        self.numbers = {word: n for n, word in enumerate(dict.fromkeys(w for each in words for w in each), start=1)}
        hashed: list[tuple[int, Hashes]] = []
        self.lengths = np.array([min(RUN, len(each)) for each in words])
        for each, length in zip(words, self.lengths.tolist(), strict=True):
            runs = self._hash(each, length) if length >= SHORTEST else np.empty(0, np.uint64)
            hashed.append((length, runs[runs > 0]))
        self._known = {
            length: np.unique(np.concatenate([runs for own, runs in hashed if own == length]))
            for length in {own for own, runs in hashed if len(runs)}
        }
        self._seen = {length: np.zeros(len(known), np.bool_) for length, known in self._known.items()}
        self._hashed = hashed

    @property
    def too_short(self) -> Flags:
        """N: texts of so few words that nobody can say."""
        flags: Flags = self.lengths < SHORTEST
        return flags

    def look_in(self, text: str) -> None:
        """Mark the runs that another text has."""
        for length, _, runs in self.matches(self.numbers_of(spelt_words(text))):
            self._seen[length][runs] = True

    def matches(self, numbers: Hashes) -> Iterator[tuple[int, Integers, Integers]]:
        """For each length of runs: where in a text, given as numbers, one of them begins, and which it is."""
        for length, known in self._known.items():
            runs = rolled_hashes(numbers, length)
            (places,) = np.nonzero(runs)
            which = np.searchsorted(known, runs[places])
            which[which == len(known)] = 0
            same = known[which] == runs[places]
            yield length, places[same], which[same]

    def runs_of(self, number: int) -> tuple[int, Integers]:
        """The length of the runs of a text, and which each of them is, in order."""
        length, runs = self._hashed[number]
        return length, np.searchsorted(self._known[length], runs) if len(runs) else np.empty(0, np.int64)

    @property
    def counts(self) -> dict[int, int]:
        """How many different runs there are of each length."""
        return {length: len(known) for length, known in self._known.items()}

    def shares(self) -> Reals:
        """N: of each text the share of its runs that were seen; 0 of one that is too short."""
        shares: Reals = np.zeros(len(self._hashed))
        for number, (length, runs) in enumerate(self._hashed):
            if len(runs):
                shares[number] = self._seen[length][self.runs_of(number)[1]].mean()
        return shares

    def numbers_of(self, words: Sequence[str]) -> Hashes:
        """A number for each word, 0 for one that none of the texts has."""
        get = self.numbers.get
        return np.array([get(word, 0) for word in words], dtype=np.uint64)

    def _hash(self, words: Sequence[str], length: int) -> Hashes:
        return rolled_hashes(self.numbers_of(words), length)


def rolled_hashes(numbers: Hashes, length: int) -> Hashes:
    """The hash of every run of so many numbers; 0 where one of them is 0."""
    count = len(numbers) - length + 1
    if count < 1:
        return np.empty(0, np.uint64)
    total, known = np.zeros(count, np.uint64), np.ones(count, np.bool_)
    for offset in range(length):
        part = numbers[offset : offset + count]
        total = (total ^ (part * ODD)) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(offset + 1)
        total ^= total >> np.uint64(29)
        known &= part > 0
    return np.where(known, np.maximum(total, np.uint64(1)), np.uint64(0))


def _shingles(text: str) -> Hashes:
    """The character 5-grams of a text's words, each once, in order; of a shorter text its only one."""
    spelt = " ".join(spelt_words(text)).ljust(SHINGLE)
    points = np.frombuffer(spelt.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64) + np.uint64(1)
    return np.unique(rolled_hashes(points, SHINGLE))


def _nearest(wanted: Sequence[Hashes], others: Sequence[Hashes], least: float) -> Iterator[tuple[int, NearText]]:
    """For each wanted set of shingles the other with the highest Jaccard similarity, if it is high enough.

    Two sets as similar as that share a shingle among the rarest (1 − least) of each: only those are compared.
    """
    every, counts = np.unique(np.concatenate((*wanted, *others)), return_counts=True)
    rank = np.empty(len(every), np.int64)
    rank[np.lexsort((every, counts))] = np.arange(len(every))
    prefixes = [_rarest(each, every, rank, least) for each in others]
    owners = np.repeat(np.arange(len(others)), [len(each) for each in prefixes])
    flat = np.concatenate(prefixes)
    order = np.argsort(flat, kind="stable")
    flat, owners = flat[order], owners[order]
    sizes = np.array([len(each) for each in others])
    for number, own in enumerate(wanted):
        prefix = _rarest(own, every, rank, least)
        begins, ends = (np.searchsorted(flat, prefix, side=side) for side in ("left", "right"))
        hits = [owners[begin:end] for begin, end in zip(begins, ends, strict=True)]
        candidates = np.unique(np.concatenate(hits)) if hits else np.empty(0, np.int64)
        alike = sizes[candidates] >= least * len(own)
        alike &= sizes[candidates] * least <= len(own)
        best = _most_similar(own, others, candidates[alike])
        if best is not None and best.similarity >= least:
            yield number, best


def _rarest(shingles: Hashes, every: Hashes, rank: Integers, least: float) -> Integers:
    """The ranks of the rarest shingles of a text: as many as a similar text must share one of."""
    ranks = np.sort(rank[np.searchsorted(every, shingles)])
    keep: Integers = ranks[: len(ranks) - int(np.ceil(least * len(ranks) - 1e-9)) + 1]
    return keep


def _most_similar(own: Hashes, others: Sequence[Hashes], candidates: Integers) -> NearText | None:
    best: NearText | None = None
    for candidate in candidates.tolist():
        shared = len(np.intersect1d(own, others[candidate], assume_unique=True))
        similarity = shared / (len(own) + len(others[candidate]) - shared)
        if best is None or similarity > best.similarity:
            best = NearText(candidate, similarity)
    return best
