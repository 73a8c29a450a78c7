"""The bytes of a source, decompressed and made UTF-8 on the way, and never held whole.

A file that breaks off in the middle (a truncated download, a bad block) ends there: what was read before
counts, and `ByteReader.problem` says what happened. One that is made to fill memories is unpacked a piece at a time,
and ends where it has become 250 times as long as it was: text does not.
"""

from __future__ import annotations

import bz2
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import zstandard

from unmask.corpus.read.encodings import Recoder, is_utf8
from unmask.corpus.read.find import BINARY, TextSource
from unmask.corpus.read.remote import BLOCK, is_remote, open_remote
from unmask.errors import BadInput

CHUNK = 1 << 16  # one read of the disk
BUFFER = 1 << 20
PIECE = 1 << 20  # bytes that are unpacked at a time
ZSTD_INPUT = 1 << 10  # bytes that zstd is given at a time, for it takes no bound: they become at most 32 MB
MEMORY = 256 << 20  # bytes that a decoder of xz may take
RATIO, UNSUSPECTED = 250, 256 << 20  # times its size, and bytes, that a file may unpack to


def unpack_zlib(frame: Any, data: bytes) -> Iterator[bytes]:
    """Pieces of what a gzip stream holds, of at most `PIECE` bytes."""
    while (chunk := frame.decompress(data, PIECE)) or frame.unconsumed_tail:
        yield chunk
        data = frame.unconsumed_tail


def _unpack_bounded(frame: Any, data: bytes) -> Iterator[bytes]:
    yield frame.decompress(data, PIECE)
    while not frame.eof and not frame.needs_input:
        yield frame.decompress(b"", PIECE)


def _unpack_zstd(frame: Any, data: bytes) -> Iterator[bytes]:
    yield frame.decompress(data)


# By compression: what unpacks one stream, how it gives pieces of what it is given, and how much it is given at a time.
DECODERS: dict[str, tuple[Callable[[], Any], Callable[[Any, bytes], Iterator[bytes]], int]] = {
    "gzip": (lambda: zlib.decompressobj(wbits=31), unpack_zlib, CHUNK),
    "zstd": (lambda: zstandard.ZstdDecompressor().decompressobj(), _unpack_zstd, ZSTD_INPUT),
    "xz": (lambda: lzma.LZMADecompressor(memlimit=MEMORY), _unpack_bounded, CHUNK),
    "bz2": (bz2.BZ2Decompressor, _unpack_bounded, CHUNK),
}
FAILURES = (OSError, EOFError, UnicodeError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


class ByteReader(io.RawIOBase):
    """What readers read from: it ends at the first failure and remembers it, and counts what it took in."""

    def __init__(
        self, read_chunk: Callable[[int], bytes], compression: str | None, recoder: Recoder | None = None
    ) -> None:
        self.problem: str | None = None
        self.bytes_read = 0  # bytes from the disk or the pipe
        self.lines_read = 0  # ends of lines among them
        self._read_chunk = read_chunk
        self._chunks = self._plain() if compression is None else self._decompress(*DECODERS[compression])
        self._recoder = recoder
        if recoder is not None:
            self._chunks = recoder.as_utf8(self._chunks)
        self._buffer = memoryview(b"")

    @property
    def recoded(self) -> bool:
        """Whether some of it was not UTF-8 and came in the encoding that is given for that."""
        return self._recoder is not None and self._recoder.recoded

    def readable(self) -> bool:
        """True: this is what it is for."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what is at hand; 0 at the end, or at the first failure."""
        if not self._buffer:
            try:
                self._buffer = memoryview(next(self._chunks, b""))
            except FAILURES as error:
                self.problem = f"breaks off ({error})"
        size = min(len(buffer), len(self._buffer))
        buffer[:size], self._buffer = self._buffer[:size], self._buffer[size:]
        return size

    def _plain(self) -> Iterator[bytes]:
        while data := self._read_chunk(CHUNK):
            self.bytes_read += len(data)
            self.lines_read += data.count(b"\n")
            yield data

    def _decompress(
        self, decoder: Callable[[], Any], unpack: Callable[[Any, bytes], Iterator[bytes]], size: int
    ) -> Iterator[bytes]:
        """One compressed stream after the other: files appended to each other are one file."""
        frame, unpacked = None, 0
        for chunk in self._plain():
            for begin in range(0, len(chunk), size):
                data = chunk[begin : begin + size]
                while data:
                    frame = frame or decoder()
                    for piece in unpack(frame, data):
                        unpacked += len(piece)
                        if unpacked > max(UNSUSPECTED, RATIO * self.bytes_read):
                            raise EOFError(f"it unpacks to more than {RATIO} times its size, which text does not")
                        if piece:
                            yield piece
                    data = frame.unused_data if frame.eof else b""
                    frame = None if frame.eof else frame
        if frame is not None:
            raise EOFError("the compressed data is truncated")


@contextmanager
def open_source(source: TextSource) -> Iterator[tuple[io.BufferedReader, ByteReader]]:
    """A source's bytes for a reader, and the stream beneath that knows how it went."""
    if source.format == "stdin":
        if sys.stdin is None:
            raise BadInput("-: standard input is closed")
        pipe: Any = sys.stdin.buffer  # `read1` gives what has come, without waiting for the rest
        stream = ByteReader(pipe.read1, None, recoder_of(source))
        yield io.BufferedReader(stream, BUFFER), stream
        return
    with open_bytes(source.name) as file:
        file.seek(source.start)
        stream = ByteReader(_read_stretch(file, source), packed_as(source), recoder_of(source))
        yield io.BufferedReader(stream, BUFFER), stream


def open_bytes(name: str, block: int = BLOCK) -> IO[bytes]:
    """The bytes of a file, here or in a store, as they are there; of a store so many are asked for at a time."""
    return open_remote(name, block) if is_remote(name) else Path(name).open("rb", buffering=0)


def _read_stretch(file: IO[bytes], source: TextSource) -> Callable[[int], bytes]:
    """What reads no further than a source goes."""
    end = source.end
    if end is None:
        return file.read
    return lambda size: file.read(min(size, end - file.tell()))


def packed_as(source: TextSource) -> str | None:
    """How a source is packed, as far as its reader leaves that to others: that of WARC unpacks records one by one."""
    return None if source.format == "warc" and source.compression == "gzip" else source.compression


def recoder_of(source: TextSource) -> Recoder | None:
    """What makes UTF-8 of a source, where it may be anything else."""
    if source.format in BINARY or is_utf8(source.encoding):
        return None
    return Recoder(source.encoding, html=source.format == "html")
