"""Texts and pairs of texts to the rows that a tuned model reads: in training, evaluation and use by this one function.

In: a tokenizer and texts. Out: `TextRows`. What opens, parts and closes a row is what the tokenizer itself puts there,
so that stock transformers reads the same. A text that is longer than a row is read in windows that overlap:

    text    [CLS] the whole text [SEP]         or    [CLS] window 1 [SEP]    [CLS] window 2 [SEP]  …
    pair    [CLS] first [SEP] second [SEP]     or    [CLS] first [SEP] window 1 of the second [SEP]  …

Of a pair the shorter text is whole in every window where it takes at most half of the row; else both go on together,
side by side. No token is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.records import Ids, Vocabulary
from unmask.tasks.text_rows import TextRows
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import vocabulary_of
from unmask.tokens.windows import read_windows

LONGEST_ROW = (
    512  # tokens in a row, if nothing else is said: what is longer costs the square of it, and is read in windows
)
AROUND = 8  # tokens that are left for text in the shortest row


class Special(NamedTuple):
    """The special tokens at one place of a row, and their types."""

    ids: tuple[int, ...]
    types: tuple[int, ...]


@dataclass(frozen=True)
class Frame:
    """What stands before, between and after the texts of a row."""

    before: Special
    between: Special  # of a pair; empty where there is one text
    after: Special
    second: int = 0  # the type of the second text

    @property
    def size(self) -> int:
        """How many tokens it takes."""
        return sum(len(part.ids) for part in (self.before, self.between, self.after))

    def row(self, *texts: Ids) -> tuple[Ids, Ids]:
        """A row of one text or of two, and its types."""
        parts: list[tuple[Sequence[int] | Ids, Sequence[int] | Ids]] = [(self.before.ids, self.before.types)]
        parts.append((texts[0], np.zeros(len(texts[0]), np.int32)))
        if len(texts) > 1:
            parts += [(self.between.ids, self.between.types), (texts[1], np.full(len(texts[1]), self.second, np.int32))]
        parts.append((self.after.ids, self.after.types))
        ids, types = (np.concatenate([np.asarray(part[side], np.int32) for part in parts]) for side in (0, 1))
        return ids, types


class RowReader:
    """A tokenizer that makes rows of at most so many tokens."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, length: int) -> None:
        self.tokenizer, self.length = tokenizer, length
        self.vocabulary = vocabulary_of(tokenizer)
        self.frames = {pair: frame_of(tokenizer, self.vocabulary, pair=pair) for pair in (False, True)}
        least = self.frames[True].size + AROUND
        if length < least:
            raise BadInput(f"--length {length}: a row has no room for text; give at least {least}")

    def read(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> TextRows:
        """The rows of texts, or of pairs of texts."""
        firsts = [row.ids for row in encode(self.tokenizer, texts)]
        return self.read_ids(firsts, None if pairs is None else [row.ids for row in encode(self.tokenizer, pairs)])

    def read_ids(self, firsts: Sequence[Ids], seconds: Sequence[Ids] | None = None) -> TextRows:
        """The rows of texts, or of pairs of texts, that are encoded."""
        frames = self.frames_around(pair=seconds is not None)
        made = [
            (number, row)
            for number, first in enumerate(firsts)
            for frame in frames
            for row in self._rows(frame, first, None if seconds is None else seconds[number])
        ]
        lengths = [len(first) + (0 if seconds is None else len(seconds[n])) for n, first in enumerate(firsts)]
        return self.text_rows(made, lengths)

    def text_rows(self, made: Sequence[tuple[int, tuple[Ids, Ids]]], tokens: Sequence[int]) -> TextRows:
        """Rows with their types as one, each with the number of its text; and the tokens of each text."""
        nothing = np.empty(0, np.int32)
        return TextRows(
            ids=np.concatenate([*(ids for _, (ids, _) in made), nothing]),
            types=np.concatenate([*(types for _, (_, types) in made), nothing]),
            ends=np.cumsum([len(ids) for _, (ids, _) in made], dtype=np.int64),
            owners=np.array([owner for owner, _ in made], np.int64),
            tokens=np.array(tokens, np.int64),
            pad=self.vocabulary.pad,
            typed="token_type_ids" in self.tokenizer.model_input_names,
            limit=self.length,
        )

    def frames_around(self, *, pair: bool) -> Sequence[Frame]:
        """What stands around a text, or a pair: a row, or several windows, for each."""
        return (self.frames[pair],)

    def _rows(self, frame: Frame, first: Ids, second: Ids | None) -> Iterator[tuple[Ids, Ids]]:
        room = self.length - frame.size
        if second is None:
            yield from (
                frame.row(first[window.begin : window.end]) for window in read_windows(len(first), room).windows
            )
            return
        if len(first) + len(second) <= room:
            yield frame.row(first, second)
            return
        rooms = self._shared_room(len(first), len(second), room)
        firsts, seconds = (
            read_windows(len(text), each).windows for text, each in zip((first, second), rooms, strict=True)
        )
        count = max(len(firsts), len(seconds))
        for number in range(count):
            one, other = firsts[number * len(firsts) // count], seconds[number * len(seconds) // count]
            yield frame.row(first[one.begin : one.end], second[other.begin : other.end])

    def _shared_room(self, first: int, second: int, room: int) -> tuple[int, int]:
        """The tokens of each text in a row: the shorter is whole if it takes at most half of it."""
        half = room // 2
        if min(first, second) > half:
            return half, room - half
        return (first, room - first) if first <= second else (room - second, second)


def frame_of(tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary, *, pair: bool) -> Frame:
    """What the tokenizer puts around texts; a start and an end where it puts nothing there itself."""
    start, end = Special((vocabulary.start,), (0,)), Special((vocabulary.end,), (0,))
    usual = Frame(start, end if pair else Special((), ()), end)
    backend = tokenizer.backend_tokenizer
    encoding = backend.encode("a", "a") if pair else backend.encode("a")
    sides = encoding.sequence_ids
    if None not in sides or (pair and 1 not in sides):
        return usual
    columns = list(zip(encoding.ids, encoding.type_ids, sides, strict=True))
    ends = {side: [n for n, column in enumerate(columns) if column[2] == side] for side in (0, 1)}
    last = ends[1] if pair else ends[0]
    between = columns[ends[0][-1] + 1 : ends[1][0]] if pair else []
    before, after = columns[: ends[0][0]], columns[last[-1] + 1 :]
    if not before and not after:
        return usual
    parts = (Special(tuple(c[0] for c in part), tuple(c[1] for c in part)) for part in (before, between, after))
    opening, parting, closing = parts
    return Frame(opening, parting, closing, second=columns[ends[1][0]][1] if pair else 0)


def row_length(asked: int | None, model_length: int | None) -> int:
    """Tokens in a row: as asked for, at most what the model takes; 512 where neither says less."""
    if asked is not None and model_length is not None and asked > model_length:
        raise BadInput(f"--length {asked}: this model takes rows of {model_length:,} tokens at the most")
    return asked or min(LONGEST_ROW, model_length or LONGEST_ROW)
