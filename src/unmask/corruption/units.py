"""What is hidden together: the eligible tokens of a batch, grouped.

In go blocks, out come `Units`. A special token or padding is in no unit, so nothing after this can hide it;
a unit never crosses the end of a document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.corruption.properties import declares
from unmask.errors import BadInput
from unmask.randomness import Draws, Purpose
from unmask.records import Blocks, Flags, Integers, Reals, Vocabulary


@dataclass(frozen=True)
class Units:
    """The eligible tokens of a batch, in order, and where each unit of them begins.

        tokens     [CLS]  the  un ##do [SEP]      position 0 … 4
        positions          1    2   3
        starts             0    1                 two units, at places 0 and 1 of `positions`
        sizes              1    2

    A unit's draws are keyed by its number in its row.
    """

    positions: Integers  # E, flat indices into B × L, ascending
    starts: Integers  # U, indices into positions, ascending
    counts: Integers  # B, how many units each row has
    tokens: Integers  # B, how many eligible tokens each row has

    @classmethod
    def of(cls, positions: Integers, starts: Integers, tokens: Integers) -> Units:
        """Units that begin at these places of the eligible tokens, which each row has so many of."""
        edges = np.searchsorted(starts, np.cumsum(tokens))
        return cls(positions, starts, np.diff(edges, prepend=0), tokens)

    @property
    def single(self) -> bool:
        """Whether every unit is one token, which saves work over the whole batch."""
        return len(self.starts) == len(self.positions)

    @cached_property
    def sizes(self) -> Integers:
        """U: how many tokens each unit has."""
        sizes = np.empty_like(self.starts)
        np.subtract(self.starts[1:], self.starts[:-1], out=sizes[:-1])
        sizes[-1:] = len(self.positions) - self.starts[-1:]
        return sizes

    @cached_property
    def rows(self) -> Integers:
        """U: the row of each unit."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def first(self) -> Integers:
        """B: the index of each row's first unit."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def numbers(self) -> Integers:
        """U: each unit's number in its row, from 0."""
        return np.arange(len(self.rows)) - self.first[self.rows]

    def members(self, indices: Integers) -> tuple[Integers, Integers]:
        """The positions of the tokens of some units, and how many each unit has."""
        if self.single:
            return self.positions[indices], np.ones(len(indices), dtype=np.int64)
        sizes = self.sizes[indices]
        place = np.arange(sizes.sum()) + np.repeat(self.starts[indices] - (np.cumsum(sizes) - sizes), sizes)
        return self.positions[place], sizes


def eligible(blocks: Blocks, vocabulary: Vocabulary) -> Flags:
    """B L: true where a token may be hidden."""
    return ~vocabulary.is_special.take(blocks.ids) & (blocks.documents > 0)  # take: twice as fast as indexing


@declares(needs_words=False)
def tokens(blocks: Blocks, vocabulary: Vocabulary, draws: Draws) -> Units:
    """Each token is a unit."""
    may = eligible(blocks, vocabulary)
    positions = np.flatnonzero(may)
    counts = np.count_nonzero(may, axis=1)
    return Units(positions, np.arange(len(positions)), counts=counts, tokens=counts)


def words(blocks: Blocks, vocabulary: Vocabulary, draws: Draws) -> Units:
    """Each word is a unit: what the pre-tokenizer called a word, whatever the script.

    tokens  the  un ##believ ##able  cat
    units    0    1     1       1     2
    """
    return between(eligible(blocks, vocabulary), blocks.word_starts | document_starts(blocks))


@declares(needs_spans=True)
def marked(blocks: Blocks, vocabulary: Vocabulary, draws: Draws, *, kind: str) -> Units:
    """Each marked span of this kind is a unit, and each word outside of them.

    tokens  in  New York City  we  un ##do
    spans    0   1    1    1    0   0   0
    units    0   1    1    1    2   3   3
    """
    if kind not in blocks.spans:
        kinds = ", ".join(sorted(blocks.spans)) or "none"
        raise BadInput(f"no spans of kind {kind!r} are marked in these blocks (there are: {kinds})")
    spans = blocks.spans[kind]
    changes = np.ones(spans.shape, dtype=np.bool_)
    np.not_equal(spans[:, 1:], spans[:, :-1], out=changes[:, 1:])
    starts = (blocks.word_starts & (spans == 0)) | changes | document_starts(blocks)
    return between(eligible(blocks, vocabulary), starts)


def spans(blocks: Blocks, vocabulary: Vocabulary, draws: Draws, *, p: float = 0.2, longest: int = 10) -> Units:
    """Runs of a geometric number of words, cut off and renormalised (SpanBERT, Joshi et al. 2020, §3.1).

    P(ℓ) ∝ p (1 − p)^(ℓ−1) for ℓ up to `longest`: 3.8 words on average.
    """
    if not 0 <= p < 1 or longest < 1:
        raise BadInput(f"span p {p} and longest {longest}: p is from 0 to below 1, longest at least 1")
    shares = (1 - p) ** np.arange(longest, dtype=np.float64)
    return _random_runs(blocks, words(blocks, vocabulary, draws), shares, draws)


def ngrams(
    blocks: Blocks,
    vocabulary: Vocabulary,
    draws: Draws,
    *,
    longest: int = 3,
    weights: list[float] | None = None,
) -> Units:
    """Runs of 1 to `longest` words, P(n) ∝ 1/n or as `weights` say (XLNet, Yang et al. 2019; DeBERTa)."""
    share: Reals = np.array(weights or [1 / n for n in range(1, longest + 1)], dtype=np.float64)
    if len(share) != longest or longest < 1 or share.min() < 0 or share.sum() <= 0:
        raise BadInput(f"n-grams of up to {longest} words need as many weights, none below 0: got {weights}")
    return _random_runs(blocks, words(blocks, vocabulary, draws), share, draws)


def document_starts(blocks: Blocks) -> Flags:
    """B L: true on the first token of each document, and of each row."""
    starts = np.ones(blocks.ids.shape, dtype=np.bool_)
    np.not_equal(blocks.documents[:, 1:], blocks.documents[:, :-1], out=starts[:, 1:])
    return starts


def between(may: Flags, boundaries: Flags) -> Units:
    """The eligible tokens from one boundary to the next are a unit, also around a token that is not eligible.

    Boundaries count wherever they stand: an unknown piece that opens a word is never hidden itself, and what
    follows it must not join the word before.
    """
    positions = np.flatnonzero(may)
    begins = boundaries[may]
    next_eligible = np.searchsorted(positions, np.flatnonzero(boundaries & ~may))
    begins[next_eligible[next_eligible < len(positions)]] = True
    return Units.of(positions, np.flatnonzero(begins), np.count_nonzero(may, axis=1))


def _random_runs(blocks: Blocks, units: Units, weights: Reals, draws: Draws) -> Units:
    """Cut each row's units into runs of random lengths, 1, 2, … with these weights, anew in each document.

    The lengths of a row are drawn one after the other and summed, so a run's length does not depend on where
    it stands; only the last one of a document may be cut short.
    """
    starts = np.zeros(len(units.rows), dtype=np.bool_)
    starts[_run_begins(units, weights, draws)] = True
    document = blocks.documents.ravel()[units.positions[units.starts]]
    starts |= np.diff(document, prepend=0) != 0
    first = np.flatnonzero(starts)
    return Units.of(units.positions, units.starts[first], units.tokens)


def _run_begins(units: Units, weights: Reals, draws: Draws) -> Integers:
    """The units at which a run begins if lengths are drawn until each row is full."""
    share = weights / weights.sum()
    mean = float(share @ np.arange(1, len(share) + 1))
    width = int(units.counts.max(initial=0) / mean) + 8
    while True:  # a width too small is doubled: the first lengths stay the same, as they are keyed by their number
        lengths = 1 + np.searchsorted(np.cumsum(share)[:-1], draws.grid(Purpose.LENGTH, width), side="right")
        ends = np.cumsum(lengths, axis=1)
        if (ends[:, -1] >= units.counts).all():
            break
        width *= 2
    begins = ends - lengths
    runs: Integers = (begins + units.first[:, None])[begins < units.counts[:, None]]
    return runs
