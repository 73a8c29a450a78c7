"""Where a corpus uses words as a sentence does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ContextLine:
    """A word of a corpus with what stands around it, as a concordance has it."""

    left: str
    word: str
    right: str
    cosine: float  # of its vector and that of the word that was asked about, both without what all words share


@dataclass(frozen=True, kw_only=True)
class NearContexts:
    """The contexts of a corpus that are nearest to a word's in its sentence."""

    word: str
    same: tuple[ContextLine, ...]  # of the same word, nearest first
    others: tuple[ContextLine, ...]  # of other words, each once, nearest first
    occurrences: int  # of the word in the sample of the corpus
    compared: int  # of them compared: the others are like them
    sentences: int  # in the sample
