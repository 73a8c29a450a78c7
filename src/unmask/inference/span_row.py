"""Texts with gaps as an encoder-decoder reads them, and what its answers look like (T5, Raffel et al. 2020).

In: a loaded T5 and a text with blanks. Out: a `SpanRow`, and a `SpanGrammar` that says which tokens can follow what was
spelt so far.

    text      She moved to New [MASK] in [MASK].
    encoder   She moved to New <0> in <1> . </s>
    decoder   <0> York <1> 1998 </s>              an answer may also be closed by the next sentinel, <2>

Blanks with nothing but spaces between them are one gap: in training no sentinel stands beside another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unmask.errors import BadInput
from unmask.inference.blanks import BlankText
from unmask.inference.spelling import writable_tokens
from unmask.models.load import LoadedModel
from unmask.records import Flags, Ids
from unmask.tokens.tokenizer.boundaries import goes_on, token_boundaries
from unmask.tokens.tokenizer.continuing import LETTERS, continue_word
from unmask.tokens.tokenizer.encode import encode

ANCHOR = "a"  # a word, behind which a sign is encoded


@dataclass(frozen=True)
class SpanRow:
    """A text with gaps, as people and as the encoder see it."""

    between: tuple[str, ...]  # what stands before, between and behind the gaps
    words: tuple[bool, ...]  # whether each gap holds one word, rather than anything
    sentinels: tuple[int, ...]  # what stands for each
    ids: Ids  # L, what the encoder reads
    closings: tuple[int, ...]  # what ends the answer: the next sentinel, where there is one, or the end

    def closings_of(self, gap: int) -> tuple[int, ...]:
        """What can follow a gap that is spelt: the sentinel of the next one; behind the last what ends the answer."""
        return self.closings if gap == len(self.sentinels) - 1 else self.sentinels[gap + 1 : gap + 2]


def make_span_row(lm: LoadedModel, text: BlankText) -> SpanRow:
    """A sentinel for each gap of a text; as many gaps as the model has sentinels are the most."""
    between, words = [text.between[0]], list[bool]()
    for number, blank in enumerate(text.blanks):
        if number and not text.between[number].strip():
            words[-1] = False
            continue
        words.append(blank.word)
        between += [text.between[number]] if number else []
    between.append(text.between[-1])
    if len(words) > len(lm.vocabulary.sentinels):
        raise BadInput(
            f"{len(words)} gaps, but this model has {len(lm.vocabulary.sentinels)} sentinels: give a text with fewer"
        )
    sentinels, following = lm.vocabulary.sentinels[: len(words)], lm.vocabulary.sentinels[len(words) :]
    ids = opening(lm)
    for number, (part, mark) in enumerate(zip(between, (*sentinels, lm.vocabulary.end), strict=True)):
        ids += [*_part_tokens(lm, part, behind_gap=number > 0), mark]
    return SpanRow(
        tuple(between), tuple(words), sentinels, np.array(ids, np.int32), (lm.vocabulary.end, *following[:1])
    )


def opening(lm: LoadedModel) -> list[int]:
    """What a row of the encoder begins with: T5's own has nothing there."""
    return [] if lm.vocabulary.start == lm.vocabulary.end else [lm.vocabulary.start]


def _part_tokens(lm: LoadedModel, part: str, *, behind_gap: bool) -> list[int]:
    """The tokens that a part of a text has in its place: letters right behind a gap go on with a word, signs follow."""
    part = part.rstrip()
    if not behind_gap or not part or part[0].isspace():
        return _tokens(lm, part)
    if goes_on(part) and (letters := LETTERS.match(part)) and (ids := continue_word(lm.tokenizer, letters[0])):
        return [*ids, *_part_tokens(lm, part[letters.end() :], behind_gap=True)]
    (row,) = encode(lm.tokenizer, [ANCHOR + part], offsets=True)
    assert row.offsets is not None  # asked for
    behind = row.offsets[:, 1] > len(ANCHOR)
    if goes_on(part) or (row.offsets[behind, 0] < len(ANCHOR)).any():  # a token that is part of both
        return _tokens(lm, part)
    return [int(number) for number in row.ids[behind]]


def _tokens(lm: LoadedModel, text: str) -> list[int]:
    return [int(number) for number in encode(lm.tokenizer, [text])[0].ids]


class Spelt(NamedTuple):
    """How far an answer is."""

    gap: int  # that is being spelt; −1 before the first sentinel
    tokens: int  # of it


class SpanGrammar:
    """What may follow in an answer: each sentinel and what it stands for, a token at least, and then the end."""

    def __init__(self, lm: LoadedModel, row: SpanRow, most: int, pieces: range | None = None) -> None:
        """Gaps of at most so many tokens; those that hold one word of a number of tokens in `pieces`."""
        self.row = row
        self._text, self._nothing = writable_tokens(lm), np.zeros(lm.vocabulary.size, np.bool_)
        self._lengths = [range(1, most + 1) if pieces is None or not word else pieces for word in row.words]
        boundaries = token_boundaries(lm.tokenizer)
        self._continuing = boundaries.continuing[: len(self._text)] & self._text
        self._firsts = []
        for gap, (before, word) in enumerate(zip(row.between, row.words, strict=False)):
            flags = writable_tokens(lm, before.lstrip() if gap == 0 else before)
            wordlike = flags & boundaries.wordlike[: len(flags)]
            self._firsts.append(wordlike if word and wordlike.any() else flags)

    @property
    def longest(self) -> int:
        """Tokens of the longest answer, its end among them."""
        return sum(1 + lengths[-1] for lengths in self._lengths) + 1

    def place(self, tokens: Sequence[int]) -> Spelt:
        """How far an answer is."""
        marks = [place for place, token in enumerate(tokens) if token in self.row.sentinels]
        if not marks:
            return Spelt(-1, 0)
        return Spelt(self.row.sentinels.index(tokens[marks[-1]]), len(tokens) - 1 - marks[-1])

    def letters(self, place: Spelt) -> Flags:
        """V: what may be spelt next in a gap; nothing where it is as long as it may be, or not begun."""
        if place.gap < 0 or place.tokens == self._lengths[place.gap][-1]:
            return self._nothing
        if not place.tokens:
            return self._firsts[place.gap]
        return self._continuing if self.row.words[place.gap] else self._text

    def may_end(self, place: Spelt) -> bool:
        """Whether a gap may be left."""
        return place.gap >= 0 and place.tokens in self._lengths[place.gap]

    def __call__(self, tokens: Sequence[int]) -> Flags:
        """V: what may follow an answer so far, the end of all among it."""
        place = self.place(tokens)
        flags = self.letters(place).copy()
        if place.gap < 0 or self.may_end(place):
            marks = self.row.sentinels[:1] if place.gap < 0 else self.row.closings_of(place.gap)
            flags[marks[0]] = True
        return flags


def spans_spelt(tokens: Sequence[int], row: SpanRow) -> list[tuple[int, ...]]:
    """What an answer says of each gap."""
    runs: list[list[int]] = []
    for token in tokens:
        if token in row.closings:
            break
        if token in row.sentinels:
            runs.append([])
        elif runs:
            runs[-1].append(token)
    return [*map(tuple, runs), *[() for _ in row.sentinels[len(runs) :]]]
