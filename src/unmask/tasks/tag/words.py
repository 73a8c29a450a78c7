"""The words of texts and where each is judged: training, evaluation and use find them by this one function.

In: texts and, where a file says them, their words. Out: `WordRows`: rows of ids, and for each word the row and the
place of its first piece there. A word is what the tokenizer calls one; where a file says what is a word, its first
piece speaks for it, and the tokenizer's words inside are learnt too, for a plain text will be read by them:

    text      U.S. troops          a file's words    U.S.    troops      tokenizer's words   U  .  S  .  troops
    learnt    # # # # #            judged            #       #           judged              #  #  #  #  #

A long text is read in windows; each word is judged in the one where it has most context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.records import Flags, Integers
from unmask.tasks.rows import RowReader
from unmask.tasks.tag.tagged import TaggedExamples, TaggedText
from unmask.tasks.text_rows import TextRows
from unmask.tokens.tokenizer.encode import EncodedText, encode
from unmask.tokens.windows import read_windows

GivenWords = Sequence[tuple[int, int]] | None  # where the words of a text are, if somebody says


@dataclass(frozen=True, eq=False)
class WordRows:
    """Texts as rows, and their words."""

    rows: TextRows
    owners: Integers  # U: the text that each word is of, ascending
    places: Integers  # U: the row that it is judged in
    columns: Integers  # U: the place of its first piece in that row
    begins: Integers  # U: its first character
    ends: Integers  # U: and the one after its last
    judged: Flags  # U: false inside a word that a file says, which is learnt but not asked for

    @cached_property
    def bounds(self) -> Integers:
        """N + 1: where the words of each text begin, and where the last end."""
        return np.searchsorted(self.owners, np.arange(len(self.rows.tokens) + 1))

    def words_of(self, number: int) -> slice:
        """The words of a text."""
        return slice(int(self.bounds[number]), int(self.bounds[number + 1]))


def read_words(reader: RowReader, texts: Sequence[str], given: Sequence[GivenWords]) -> WordRows:
    """The rows of texts, and their words: those that are given, or the tokenizer's."""
    encoded = encode(reader.tokenizer, texts, offsets=True)
    rows = reader.read_ids([each.ids for each in encoded])
    frame = reader.frames[False]
    first_rows = np.searchsorted(rows.owners, np.arange(len(texts)))
    parts: list[Integers] = []  # each U 6: as the columns of `table`
    for number, (text, each, words) in enumerate(zip(texts, encoded, given, strict=True)):
        tokens, *extent = words_in(text, each, words)
        row, column = np.zeros_like(tokens), np.zeros_like(tokens)
        for nth, window in enumerate(read_windows(len(each.ids), reader.length - frame.size).windows):
            here = (tokens >= window.first) & (tokens < window.last)
            row[here] = first_rows[number] + nth
            column[here] = tokens[here] - window.begin + len(frame.before.ids)
        parts.append(np.stack((np.full_like(tokens, number), row, column, *extent), axis=1))
    table = np.concatenate([*parts, np.zeros((0, 6), np.int64)])
    owners, places, columns, begins, ends, judged = table.T
    return WordRows(rows, owners, places, columns, begins, ends, judged > 0)


def words_in(text: str, encoded: EncodedText, given: GivenWords) -> tuple[Integers, Integers, Integers, Integers]:
    """The words of a text: U each, the first piece, the first character and the one after the last, and if judged."""
    assert encoded.offsets is not None
    offsets = encoded.offsets.astype(np.int64)
    inside = [text[begin:end] for begin, end in offsets.tolist()]
    visible = np.array([bool(part.strip()) for part in inside], dtype=np.bool_)
    begins = offsets[:, 0] + np.array([len(part) - len(part.lstrip()) for part in inside], np.int64)
    ends = offsets[:, 1] - np.array([len(part) - len(part.rstrip()) for part in inside], np.int64)
    starts = encoded.word_starts.copy()
    said = {} if given is None else _first_pieces(begins, ends, visible, starts, given)
    first = np.flatnonzero(starts)
    if not len(first):
        return (np.zeros(0, np.int64),) * 4
    last = np.append(first[1:], len(starts))
    word = np.repeat(np.arange(len(first)), last - first)
    low = np.full(len(first), len(text))
    high = np.zeros(len(first), np.int64)
    np.minimum.at(low, word[visible], begins[visible])
    np.maximum.at(high, word[visible], ends[visible])
    judged = np.ones(len(first), np.int64)
    if given is not None:
        judged = np.array([piece in said for piece in first.tolist()], np.int64)
        for place in np.flatnonzero(judged).tolist():
            low[place], high[place] = said[int(first[place])]
    kept = low < high  # not what is spaces alone
    return first[kept], low[kept], high[kept], judged[kept]


def _first_pieces(
    begins: Integers, ends: Integers, visible: Flags, starts: Flags, given: Sequence[tuple[int, int]]
) -> dict[int, tuple[int, int]]:
    """The first piece of each given word, which is made the start of one; a word without a piece has none."""
    pieces: dict[int, tuple[int, int]] = {}
    seen = np.flatnonzero(visible)
    for begin, end in given:
        place = int(np.searchsorted(ends[seen], begin, side="right"))
        if place == len(seen) or begins[seen[place]] >= end:
            continue
        piece = int(seen[place])
        while not starts[piece] and piece and not visible[piece - 1]:  # a space that is a piece of its own
            piece -= 1
        if piece not in pieces:  # else it covers the word before too, which it speaks for
            starts[piece] = True
            pieces[piece] = (begin, end)
    return pieces


def read_examples(reader: RowReader, examples: TaggedExamples) -> WordRows:
    """The words of a file's texts."""
    texts = examples.examples
    return read_words(reader, [each.text for each in texts], [each.words for each in texts])


def targets_for(words: WordRows, examples: Sequence[TaggedText], labels: Sequence[str]) -> Integers:
    """U: the number of each word's tag among those of `tags_for`; a word that is partly in a span is in it."""
    number = {label: 1 + 2 * place for place, label in enumerate(labels)}
    targets = np.zeros(len(words.owners), np.int64)
    for text, example in enumerate(examples):
        here = words.words_of(text)
        begins, ends = words.begins[here], words.ends[here]
        part = targets[here]
        for span in example.spans:
            first = int(np.searchsorted(ends, span.start, side="right"))
            last = int(np.searchsorted(begins, span.end))
            while first < last and part[first]:  # a word that two spans have a part of is the first's
                first += 1
            part[first:last] = number[span.label] + 1
            part[first : min(first + 1, last)] = number[span.label]
    return targets


def count_misaligned(words: WordRows, examples: Sequence[TaggedText]) -> int:
    """How many spans begin or end within a word, so that no tags of words say them."""
    count = 0
    for text, example in enumerate(examples):
        here = words.words_of(text)
        judged = words.judged[here]
        begins, ends = {*words.begins[here][judged].tolist()}, {*words.ends[here][judged].tolist()}
        count += sum(span.start not in begins or span.end not in ends for span in example.spans)
    return count
