"""What is read at a time: a few small files, one file, or a stretch of a large one.

In: sources, in reading order. Out: parts of at most about 64 MB, in the same order. A stretch begins and ends where a
document does: at a line break in JSONL, at a blank line in text. Where parts are cut changes who reads what, and
nothing that comes out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.corpus.read.byte_reader import open_bytes
from unmask.corpus.read.encodings import is_utf8, keeps_ascii
from unmask.corpus.read.find import TextSource
from unmask.files import json_digest

PART = 64 << 20  # bytes
SMALLEST = 4 << 20  # bytes of a part of a small corpus: below, starting a process takes longer than reading it
SHARES = 16  # parts that a corpus between the two is cut into
LOOK = 1 << 20  # bytes that are searched for a place to cut at a time
# By format: what a document ends with. Only what is neither compressed nor quoted can be cut without reading it.
ENDS = {"jsonl": re.compile(rb"\n"), "text": re.compile(rb"\n[ \t\r\v\f]*\n")}
HERE = ("stdin", "builtin")  # formats that only the process which was started by the user can read


@dataclass(frozen=True, slots=True)
class Part:
    """Whole sources, or a stretch of one: what one process reads."""

    number: int
    sources: tuple[TextSource, ...]

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(source.size for source in self.sources)

    @property
    def here(self) -> bool:
        """Whether no other process can read it."""
        return any(source.format in HERE for source in self.sources)

    def key(self, settings: dict[str, Any]) -> str:
        """What is read and how: a part that was finished under the same key need not be read again."""
        return json_digest([settings, [_identity(source) for source in self.sources]])[:32]


def _identity(source: TextSource) -> list[Any]:
    name = os.fsencode(source.name).decode("latin-1")  # JSON has no bytes
    fields = [name, source.format, source.compression, source.named, source.encoding, source.start, source.end]
    if source.length is not None:
        return [*fields, source.length, source.version]
    try:
        state = Path(source.name).stat()
        return [*fields, state.st_size, state.st_mtime_ns]
    except OSError:
        return fields


def part_size(sources: Sequence[TextSource]) -> int:
    """How large parts are: 64 MB, and less where there would be too few for several processes."""
    total = sum(source.size for source in sources)
    return min(PART, max(SMALLEST, total // SHARES))


def cut_parts(sources: Sequence[TextSource], size: int) -> list[Part]:
    """The parts of a corpus, in reading order: small files together, large ones in stretches where they can be cut."""
    parts: list[Part] = []
    together: list[TextSource] = []
    room = size

    def end_part() -> None:
        nonlocal together, room
        if together:
            parts.append(Part(len(parts), tuple(together)))
        together, room = [], size

    for source in sources:
        if source.format in HERE or source.size > room:
            end_part()
        for stretch in _stretches(source, size):
            together.append(stretch)
            room -= stretch.size
            if room <= 0 or source.format in HERE or stretch is not source:
                end_part()
    end_part()
    return parts


def _stretches(source: TextSource, size: int) -> Iterator[TextSource]:
    ending = ENDS.get(source.format)
    if ending is None or source.compression or source.size <= size or not _cuttable(source.encoding):
        yield source
        return
    start, end = 0, source.size
    while start < end:
        stop = _next_end(source.name, ending, start + size) if start + size < end else end
        yield source if (start, stop) == (0, end) else replace(source, start=start, end=stop)
        start = stop


def _cuttable(encoding: str) -> bool:
    """Whether a line ends with the byte of ASCII, and how a file begins says nothing of the rest."""
    return is_utf8(encoding) or keeps_ascii(encoding)


def _next_end(name: str, ending: re.Pattern[bytes], place: int) -> int:
    """Where the first document ends that is not over at a place; the end of the file if there is no such place."""
    with open_bytes(name, LOOK) as file:
        file.seek(place)
        window = b""
        while data := file.read(LOOK):
            window += data
            if match := ending.search(window):
                return file.tell() - len(window) + match.end()
            window = window[window.rfind(b"\n") :] if b"\n" in window else b""  # an end may go on in the next bytes
        return file.tell()
