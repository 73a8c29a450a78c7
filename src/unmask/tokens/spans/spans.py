"""Entities and phrases of a corpus, found in its text and kept as stretches of its token stream.

In: documents in the order of the stream, and spans of their characters. Out: an array of token stretches, from which
any part of the stream can be marked without looking at the rest.

    spans.entity.npy    int64, S × 2: where each span begins and ends in the split's token stream, ascending
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ahocorasick_rs
import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput, Damaged
from unmask.records import Blocks, Ids, Integers
from unmask.tokens.pack import AROUND, Plan
from unmask.tokens.store.shards import Growing

if TYPE_CHECKING:  # a process that only reads spans needs no tokenizer
    from unmask.tokens.tokenizer.encode import Encoded

Span = tuple[int, int]  # the first character and the one after the last
Finder = Callable[[Sequence[str]], list[list[Span]]]  # the spans of each text, ascending, none overlapping


def gazetteer(phrases: Sequence[str]) -> Finder:
    """Find these phrases, as whole words, the longest where they overlap.

    One automaton finds all of them in one pass over a text (Aho and Corasick 1975), however many there are.

    >>> gazetteer(["New York", "New York Times", "art"])(["The New York Times of New Yorkers, art."])
    [[(4, 18), (35, 38)]]
    """
    automaton = ahocorasick_rs.AhoCorasick(list(phrases))

    def find(texts: Sequence[str]) -> list[list[Span]]:
        return [apart(_whole(text, automaton.find_matches_as_indexes(text, overlapping=True))) for text in texts]

    return find


def gazetteer_file(path: Path | str) -> Finder:
    """Find the phrases of a file, one a line."""
    from unmask.tokens.spans.phrases import read_list

    return gazetteer(read_list(path))


def spacy_finders(model: str) -> dict[str, Finder]:
    """Find what a spaCy pipeline calls an entity, and as phrases, where it parses, its noun chunks."""
    try:
        import spacy
    except ModuleNotFoundError:
        raise BadInput("spaCy is not installed: pip install 'unmask[spacy]'") from None
    try:
        pipeline = spacy.load(model)
    except OSError:
        raise BadInput(f"spaCy has no pipeline {model!r}: python -m spacy download {model}") from None

    @lru_cache(maxsize=1)  # the same texts are asked for each kind
    def read(texts: tuple[str, ...]) -> list[Any]:
        return list(pipeline.pipe(texts))

    def finder(kind: str) -> Finder:
        def find(texts: Sequence[str]) -> list[list[Span]]:
            found = (getattr(document, kind) for document in read(tuple(texts)))
            return [[(span.start_char, span.end_char) for span in spans] for spans in found]

        return find

    parses = {"phrase": finder("noun_chunks")} if pipeline.has_pipe("parser") else {}
    return {"entity": finder("ents"), **parses}


def apart(spans: Iterable[Span]) -> list[Span]:
    """Of spans that overlap the leftmost, and of those the longest; ascending.

    >>> apart([(6, 9), (0, 5), (0, 7)])
    [(0, 7)]
    """
    kept: list[Span] = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end))
    return kept


def _whole(text: str, matches: list[tuple[int, int, int]]) -> list[Span]:
    """The matches that stand as whole words."""
    return [(begin, end) for _, begin, end in matches if not (_inside_word(text, begin) or _inside_word(text, end))]


def _inside_word(text: str, place: int) -> bool:
    """Whether a place is between two letters or digits of a script that is written with spaces."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    return before.isalnum() and after.isalnum() and max(before, after) < "\u0e00"


class SpanWriter:
    """Writes the spans of one kind of a split, document by document; nothing is held in memory."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.spans = 0
        self._tokens = 0
        self._path = folder / f"spans.{kind}.npy"

    def add(self, documents: Sequence[Encoded], spans: Sequence[Sequence[Span]]) -> None:
        """Append the spans of documents, which were encoded with their offsets."""
        for encoded, some in zip(documents, spans, strict=True):
            if some and encoded.offsets is not None:
                found = self._tokens + token_stretches(encoded.offsets, some)
                self._file.append(found)
                self.spans += len(found)
            self._tokens += len(encoded.ids)

    def __enter__(self) -> SpanWriter:
        self._opened = self._path.open("wb")
        self._file = Growing(self._opened, np.int64, row=(2,))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._opened:
            if kind is None:
                self._file.finish()


def token_stretches(offsets: NDArray[np.int32], spans: Sequence[Span]) -> Integers:
    """S × 2: the tokens that each span of characters covers, in whole or in part; spans without a token are left out.

    >>> token_stretches(np.array([(0, 3), (3, 7), (7, 12)]), [(4, 12), (12, 15)])
    array([[1, 3]])
    """
    ends = np.maximum.accumulate(offsets[:, 1])
    chars = np.asarray(spans, dtype=np.int64)
    first = np.searchsorted(ends, chars[:, 0], side="right")
    last = np.searchsorted(offsets[:, 0], chars[:, 1], side="left")
    both = np.stack((first, last), axis=1)
    both[1:, 0] = np.maximum(both[1:, 0], both[:-1, 1])  # a token in two spans is of the first
    kept: Integers = both[both[:, 0] < both[:, 1]]
    return kept


@dataclass(frozen=True)
class Spans:
    """The marked spans of a split, by their place in its token stream."""

    stretches: Integers  # S 2
    path: Path | None = None  # where they were opened

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the same file, instead of being sent what is in it."""
        return (Spans, (self.stretches,)) if self.path is None else (Spans.open, (self.path.absolute(),))

    @classmethod
    def open(cls, path: Path) -> Spans:
        """Open a file of spans, without reading it."""
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        except FileNotFoundError as error:
            raise Damaged(f"{path}: missing") from error
        except (ValueError, EOFError) as error:
            raise Damaged(f"{path}: not a whole array file") from error
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype != np.int64:
            raise Damaged(f"{path}: holds {array.dtype} of shape {array.shape}, which no file of spans does")
        return cls(array, path)

    def marks(self, start: int, stop: int) -> Ids:
        """For each token between two places of the stream the number of its span, from 1; 0 is none."""
        first = int(np.searchsorted(self.stretches[:, 1], start, side="right"))
        last = int(np.searchsorted(self.stretches[:, 0], stop, side="left"))
        marks = np.zeros(stop - start, dtype=np.int32)
        for number, (begin, end) in enumerate((self.stretches[first:last] - start).tolist(), start=1):
            marks[max(begin, 0) : end] = number
        return marks


def mark_blocks(blocks: Blocks, plan: Plan, spans: Mapping[str, Spans]) -> Blocks:
    """Blocks as `read_blocks` read them by this plan, with the spans of each kind marked."""
    marks = {kind: np.zeros(blocks.ids.shape, dtype=np.int32) for kind in spans}
    if not marks:
        return blocks
    for row, number in enumerate(blocks.numbers.tolist()):
        column = 1  # after the opening token
        for piece in plan.order[plan.edges[number] : plan.edges[number + 1]]:
            start, size = int(plan.pieces.starts[piece]), int(plan.pieces.lengths[piece])
            for kind, known in spans.items():
                marks[kind][row, column : column + size] = known.marks(start, start + size)
            column += size + AROUND
    return replace(blocks, spans={**blocks.spans, **marks})
