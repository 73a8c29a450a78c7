"""Entities and phrases of a corpus, kept as stretches of its token stream.

In: documents in the order of the stream, and spans of their characters. Out: an array of token stretches, from which
any part of the stream can be marked without looking at the rest.

    spans.entity.npy    int64, S × 2: where each span begins and ends in the split's token stream, ascending
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmask.errors import Damaged
from unmask.records import Blocks, Ids, Integers
from unmask.tokens.pack import AROUND, Packing
from unmask.tokens.store.shards import Growing

if TYPE_CHECKING:  # a process that only reads spans needs neither a tokenizer nor a finder
    from unmask.tokens.spans.find import Span
    from unmask.tokens.tokenizer.encode import EncodedText


class SpanWriter:
    """Writes the spans of one kind of a split, document by document; nothing is held in memory."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.spans = 0
        self._tokens = 0
        self._path = folder / f"spans.{kind}.npy"

    def add(self, documents: Sequence[EncodedText], spans: Sequence[Sequence[Span]]) -> None:
        """Append the spans of documents, which were encoded with their offsets."""
        for tokens, chars in zip(documents, spans, strict=True):
            if chars and tokens.offsets is not None:
                stretches = self._tokens + token_stretches(tokens.offsets, chars)
                self._file.append(stretches)
                self.spans += len(stretches)
            self._tokens += len(tokens.ids)

    def __enter__(self) -> SpanWriter:
        self._handle = self._path.open("wb")
        self._file = Growing(self._handle, np.int64, row=(2,))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._handle:
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
    stretches = np.stack((first, last), axis=1)
    stretches[1:, 0] = np.maximum(stretches[1:, 0], stretches[:-1, 1])  # a token in two spans is of the first
    nonempty: Integers = stretches[stretches[:, 0] < stretches[:, 1]]
    return nonempty


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


def mark_blocks(blocks: Blocks, packing: Packing, spans: Mapping[str, Spans]) -> Blocks:
    """Blocks as `read_blocks` read them by this packing, with the spans of each kind marked."""
    marks = {kind: np.zeros(blocks.ids.shape, dtype=np.int32) for kind in spans}
    if not marks:
        return blocks
    for row, number in enumerate(blocks.numbers.tolist()):
        column = 1  # after the opening token
        for index in packing.order[packing.edges[number] : packing.edges[number + 1]]:
            start, size = int(packing.pieces.starts[index]), int(packing.pieces.lengths[index])
            for kind, stretches in spans.items():
                marks[kind][row, column : column + size] = stretches.marks(start, start + size)
            column += size + AROUND
    return replace(blocks, spans={**blocks.spans, **marks})
