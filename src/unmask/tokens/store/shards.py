"""Tokens on disk: the documents of one split, one after the other, in memory-mapped shards.

In: encoded documents. Out: a stream that can be read from any place without loading the rest.

    00000.tokens.npy   uint16, or uint32 for a vocabulary over 65,536
    00000.words.npy    one bit for each token, first bit first: does it start a word
    00000.ends.npy     int64, where each document ends in this shard

A document never crosses shards. Nothing is unpickled.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from unmask.errors import Damaged
from unmask.records import Flags, Ids, Integers

if TYPE_CHECKING:  # a process that only reads shards needs no tokenizer
    from unmask.tokens.tokenizer.encode import EncodedText

SHARD_TOKENS = 64 << 20  # 128 MB of uint16: few files, and each quickly hashed


class Shards:
    """One split's tokens as one stream, in the order of its documents."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        names = sorted(path.name.removesuffix(".tokens.npy") for path in directory.glob("*.tokens.npy"))
        shards = [_open_shard(directory, name) for name in names]
        self._tokens = [tokens for tokens, _, _ in shards]
        self._words = [words for _, words, _ in shards]
        sizes = [len(tokens) for tokens in self._tokens]
        self._starts = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
        empty = np.zeros(0, dtype=np.int64)
        self.ends: Integers = np.concatenate(
            [empty, *(ends + start for (_, _, ends), start in zip(shards, self._starts, strict=False))]
        )

    def __reduce__(self) -> tuple[type[Shards], tuple[Path]]:
        """Another process opens the same files, instead of being sent what is in them."""
        return Shards, (self.directory.absolute(),)

    @property
    def documents(self) -> int:
        """How many documents the split has."""
        return len(self.ends)

    @property
    def tokens(self) -> int:
        """How many tokens the split has."""
        return int(self._starts[-1])

    def read(self, start: int, stop: int) -> tuple[Ids, Flags]:
        """The tokens between two places of the stream, and which of them start a word."""
        if not 0 <= start <= stop <= self._starts[-1]:
            raise IndexError(f"{start}:{stop} is not within the {self._starts[-1]:,} tokens of the split")
        shard = bisect_right(self._starts, start) - 1
        if stop <= self._starts[min(shard + 1, len(self._tokens))]:
            return self._read(shard, start, stop) if start < stop else (np.zeros(0, np.int32), np.zeros(0, np.bool_))
        stretches = []
        while start < stop:
            upto = min(stop, self._starts[shard + 1])
            stretches.append(self._read(shard, start, upto))
            start, shard = upto, shard + 1
        return np.concatenate([ids for ids, _ in stretches]), np.concatenate([words for _, words in stretches])

    def _read(self, shard: int, start: int, stop: int) -> tuple[Ids, Flags]:
        begin = start - self._starts[shard]
        size = stop - start
        ids = self._tokens[shard][begin : begin + size].astype(np.int32)
        skip = begin & 7
        bits = np.unpackbits(self._words[shard][begin >> 3 : (begin + size + 7) >> 3])
        return ids, bits[skip : skip + size].view(np.bool_)


def _open_shard(directory: Path, name: str) -> tuple[NDArray[Any], NDArray[np.uint8], Integers]:
    tokens = _open_array(directory / f"{name}.tokens.npy", (np.uint16, np.uint32))
    words = _open_array(directory / f"{name}.words.npy", (np.uint8,))
    ends = _open_array(directory / f"{name}.ends.npy", (np.int64,))
    if len(words) != -(-len(tokens) // 8):
        raise Damaged(
            f"{directory / name}.words.npy: {len(words):,} bytes of word starts do not fit {len(tokens):,} tokens"
        )
    if len(ends) == 0 or ends[0] < 0 or ends[-1] != len(tokens) or (np.diff(ends) < 0).any():
        raise Damaged(f"{directory / name}.ends.npy: its document ends do not fit {len(tokens):,} tokens")
    return tokens, words, ends


def _open_array(path: Path, kinds: tuple[DTypeLike, ...]) -> NDArray[Any]:
    try:
        # A plain view: slicing np.memmap itself costs several times as much, and packing slices all day.
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except FileNotFoundError as error:
        raise Damaged(f"{path}: missing") from error
    except (ValueError, EOFError) as error:
        raise Damaged(f"{path}: not a whole array file") from error
    if array.ndim != 1 or array.dtype not in kinds:
        raise Damaged(f"{path}: holds {array.dtype} of {array.ndim} dimensions, which no shard does")
    return array


class ShardWriter:
    """Writes the shards of one split, document by document; memory holds the document ends only."""

    def __init__(self, directory: Path, vocabulary: int, shard_tokens: int = SHARD_TOKENS) -> None:
        self.directory = directory
        self.shard_tokens = shard_tokens
        self.counts = np.zeros(vocabulary, dtype=np.int64)
        self.tokens = 0
        self.documents = 0
        self._dtype = np.uint16 if vocabulary <= 1 << 16 else np.uint32
        self._shard: _Shard | None = None
        self._number = 0
        directory.mkdir(parents=True, exist_ok=True)

    def add(self, documents: Sequence[EncodedText]) -> None:
        """Append documents."""
        for ids, word_starts, *_ in documents:
            if self._shard is not None and self._shard.tokens + len(ids) > self.shard_tokens:
                self._next()
            if self._shard is None:
                self._shard = _Shard(self.directory / f"{self._number:05}", self._dtype)
            self._shard.add(ids, word_starts)
        ids = np.concatenate([np.zeros(0, np.int32), *(document[0] for document in documents)])
        self.counts += np.bincount(ids, minlength=len(self.counts))
        self.tokens += len(ids)
        self.documents += len(documents)

    def _next(self) -> None:
        if self._shard is not None:
            self._shard.close()
            self._shard, self._number = None, self._number + 1

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._next()
        elif self._shard is not None:  # nobody will read it
            with suppress(OSError):
                self._shard.files.close()


class _Shard:
    """One shard being written: arrays that grow, and headers put right at the end."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.path = path
        self.files = ExitStack()
        self.ids = self._grow("tokens", dtype)
        self.words = self._grow("words", np.uint8)
        self.tokens = 0
        self.ends: list[int] = []
        self.pending = np.zeros(0, dtype=np.bool_)  # word starts that do not fill a byte yet

    def _grow(self, name: str, dtype: DTypeLike) -> Growing:
        path = Path(f"{self.path}.{name}.npy")
        return Growing(self.files.enter_context(path.open("wb")), dtype)

    def add(self, ids: Ids, word_starts: Flags) -> None:
        self.ids.append(ids)
        self.pending = np.concatenate((self.pending, word_starts))
        full = len(self.pending) & ~7
        self.words.append(np.packbits(self.pending[:full]))
        self.pending = self.pending[full:]
        self.tokens += len(ids)
        self.ends.append(self.tokens)

    def close(self) -> None:
        with self.files:
            self.words.append(np.packbits(self.pending))
            self.ids.finish()
            self.words.finish()
        write_array(Path(f"{self.path}.ends.npy"), np.array(self.ends, dtype=np.int64))


class Growing:
    """A .npy file whose length is known only at the end; `row` is the shape of what it is a list of."""

    def __init__(self, file: IO[bytes], dtype: DTypeLike, row: tuple[int, ...] = ()) -> None:
        self.file, self.dtype, self.row, self.size = file, np.dtype(dtype), row, 0
        self._header()

    def _header(self) -> None:
        # numpy leaves room for the first axis to grow to 20 digits, so the header can be written over
        descr = np.lib.format.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.size, *self.row)}
        np.lib.format.write_array_header_1_0(self.file, header)

    def append(self, values: NDArray[Any]) -> None:
        """Write more of it."""
        self.file.write(values.astype(self.dtype, copy=False).data)
        self.size += len(values)

    def finish(self) -> None:
        """Put the length right."""
        self.file.seek(0)
        self._header()


def write_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array of one dimension; where numpy's own writing meets a full disk, its error does not say so."""
    with path.open("wb") as handle:
        array_file = Growing(handle, values.dtype)
        array_file.append(values)
        array_file.finish()
