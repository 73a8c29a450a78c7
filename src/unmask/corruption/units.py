"""What is hidden together: the eligible tokens of a batch, grouped.

In go blocks, out come `Units`. A special token or padding is in no unit, so nothing after this can hide it;
a unit never crosses the end of a document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.records import Blocks, Flags, Integers, Vocabulary


@dataclass(frozen=True)
class Units:
    """The eligible tokens of a batch, in order, and where each unit of them begins.

    tokens     [CLS]  the  un ##do [SEP]      position 0 … 4
    positions          1    2   3
    starts             0    1                 two units, at places 0 and 1 of `positions`
    sizes              1    2
    """

    positions: Integers  # E, flat indices into B × L, ascending
    starts: Integers  # U, indices into positions, ascending
    rows: Integers  # U, the row of each unit
    shape: tuple[int, int]  # B, L

    @property
    def single(self) -> bool:
        """Whether every unit is one token, which saves work over the whole batch."""
        return len(self.starts) == len(self.positions)

    @cached_property
    def sizes(self) -> Integers:
        """U: how many tokens each unit has."""
        return np.diff(self.starts, append=len(self.positions))

    @cached_property
    def counts(self) -> Integers:
        """B: how many units each row has."""
        return np.bincount(self.rows, minlength=self.shape[0])

    @cached_property
    def first(self) -> Integers:
        """B: the index of each row's first unit."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def numbers(self) -> Integers:
        """U: each unit's number in its row, from 0, which is what its draws are keyed by."""
        return np.arange(len(self.rows)) - self.first[self.rows]

    @cached_property
    def tokens(self) -> Integers:
        """B: how many eligible tokens each row has."""
        ends = np.append(self.starts, len(self.positions))
        tokens: Integers = ends[self.first + self.counts] - ends[self.first]
        return tokens

    def spread(self, flags: Flags) -> Flags:
        """U flags as E flags: what is true of a unit is true of each of its tokens."""
        return flags if self.single else np.repeat(flags, self.sizes)


def eligible(blocks: Blocks, vocabulary: Vocabulary) -> Flags:
    """B L: true where a token may be hidden."""
    return ~vocabulary.is_special[blocks.ids] & (blocks.documents > 0)


def tokens(blocks: Blocks, vocabulary: Vocabulary) -> Units:
    """Each token is a unit."""
    may = eligible(blocks, vocabulary)
    positions = np.flatnonzero(may)
    rows = np.repeat(np.arange(len(may)), np.count_nonzero(may, axis=1))
    return Units(positions, np.arange(len(positions)), rows, may.shape)


def words(blocks: Blocks, vocabulary: Vocabulary) -> Units:
    """Each word is a unit: what the pre-tokenizer called a word, whatever the script.

    tokens  the  un ##believ ##able  cat
    units    0    1     1       1     2
    """
    return between(eligible(blocks, vocabulary), blocks.word_starts | document_starts(blocks))


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
    group = np.cumsum(boundaries.ravel(), dtype=np.int32)[positions]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return Units(positions, starts, positions[starts] // may.shape[1], may.shape)
