"""The reader of web archives: WARC and WET, plain or compressed, a record after the other, nothing unpacked to disk.

    bytes ─unpack, a gzip member at a time─▶ records ─▶ conversion (WET): its text
                                                        response, resource: the prose of its page, or its plain text

A document's line is the number of its record in the file, from 1. A record that is damaged is malformed, with its
number and address, and reading goes on at the next: in a `.warc.gz` each record is packed for itself. What is no page
(pictures, redirects, answers other than 200) is passed over and counted by its type.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from unmask.corpus.read.byte_reader import CHUNK, RATIO, UNSUSPECTED, unpack_zlib
from unmask.corpus.read.find import TextSource
from unmask.corpus.read.formats import ROW, Malformed, PassedOver, Record, cut_long_text
from unmask.corpus.read.http_message import HttpAnswer, read_answer
from unmask.corpus.read.prose import page_documents

MEMBER = b"\x1f\x8b\x08"  # how a gzip member begins
BEGINNING = re.compile(rb"(?:\A|\n)(WARC/\d)")  # of a record, at the beginning of a line
HELD = 16 << 20  # bytes of a gzip member that are kept until its checksum is seen
HEADERS = 64 << 10  # bytes of the header of a record
ABOUT_PAGES = ("warcinfo", "request", "metadata")  # records that hold no page and were never meant to
PAGES = ("text/html", "application/xhtml+xml")


class Damage(Exception):
    """A record, or what packs it, that cannot be read; the stream is behind it, or before the next record."""


@dataclass(frozen=True)
class WarcRecord:
    """One record: its header, names in small letters, and its block."""

    fields: dict[str, str]
    block: bytes

    @property
    def address(self) -> str:
        """What it is a record of."""
        return self.fields.get("warc-target-uri", "").strip("<>")

    @property
    def content_type(self) -> str:
        """What its block is."""
        return self.fields.get("content-type", "").partition(";")[0].strip().lower()


def read_warc(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """Every page of a web archive."""
    chunks = _members(content) if source.compression == "gzip" else iter(lambda: content.read1(CHUNK), b"")
    stream = RecordStream(chunks)
    before: list[Malformed] = []  # damage before the first record: in a file that has none, there is no archive
    whole = False
    for number in count(1):
        try:
            record = stream.next_record()
        except Damage as damage:
            problem = Malformed(source.name, number, str(damage))
            if whole:
                yield problem
            else:
                before.append(problem)
            continue
        if record is None:
            break
        yield from before
        before, whole = [], True
        yield from _record_documents(record, source, number)
    if before:
        yield Malformed(source.name, 0, f"not a web archive, or damaged: {before[0].reason}")


def _record_documents(record: WarcRecord, source: TextSource, number: int) -> Iterator[Record]:
    kind = record.fields.get("warc-type", "").lower()
    if kind == "conversion" or (kind == "resource" and record.content_type == "text/plain"):
        yield from _plain_text(record.block, None, record, source, number)
    elif kind == "resource" and record.content_type in PAGES:
        yield from _html_page(record.block, None, record, source, number)
    elif kind == "response" and record.content_type == "application/http":
        yield from _server_documents(record, source, number)
    elif kind not in ABOUT_PAGES:
        yield PassedOver(source.name, record.content_type if kind == "resource" else kind or "no type", number)


def _server_documents(record: WarcRecord, source: TextSource, number: int) -> Iterator[Record]:
    """The page that a server gave."""
    try:
        answer: HttpAnswer = read_answer(record.block)
        if answer.status != 200:
            yield PassedOver(source.name, f"status {answer.status}", number)
        elif answer.content_type in PAGES:
            yield from _html_page(answer.body(), answer.charset, record, source, number)
        elif answer.content_type == "text/plain":
            yield from _plain_text(answer.body(), answer.charset, record, source, number)
        else:
            yield PassedOver(source.name, answer.content_type or "no type", number)
    except ValueError as error:
        yield Malformed(source.name, number, str(error), record.address)


def _plain_text(
    data: bytes, charset: str | None, record: WarcRecord, source: TextSource, number: int
) -> Iterator[Record]:
    """A text, in the encoding that its server says; what a crawler converted is UTF-8."""
    try:
        yield from cut_long_text(data.decode(charset or "utf-8-sig"), source.name, number)
    except (UnicodeDecodeError, LookupError) as error:
        yield Malformed(source.name, number, f"not {charset or 'UTF-8'} ({error})", record.address)


def _html_page(
    data: bytes, charset: str | None, record: WarcRecord, source: TextSource, number: int
) -> Iterator[Record]:
    for each in page_documents(data, source, line=number, charset=charset):
        yield Malformed(each.source, each.line, each.reason, record.address) if isinstance(each, Malformed) else each


class RecordStream:
    """Records from pieces of bytes; no more of them is held than one record of at most 64 MB, and a piece."""

    def __init__(self, chunks: Iterator[bytes | Damage]) -> None:
        self._chunks = chunks
        self._data, self._place = b"", 0  # what is at hand, and how much of it is read
        self._lost = False  # whether the place is somewhere inside of a record

    def next_record(self) -> WarcRecord | None:
        """The next record, none at the end; `Damage` where there is none to be made of what comes."""
        if self._lost and not self._seek_record():
            return None
        self._lost = True  # until a record was read whole
        while self._more(1) and self._data[self._place] in b"\r\n":  # behind a record there are two ends of lines
            self._place += 1
        if not self._more(1):
            return None
        fields = self._fields()
        length = fields.get("content-length", "")
        if not length.isascii() or not length.isdigit() or len(length) > 18:
            raise Damage(f"a record without its length (Content-Length {length!r})")
        if int(length) > ROW:
            raise Damage(f"a record of more than {ROW >> 20} MB")
        record = WarcRecord(fields, self._block(int(length)))
        self._lost = False
        return record

    def _fields(self) -> dict[str, str]:
        """The header of a record."""
        held = len(self._data) - self._place
        while (end := self._data.find(b"\r\n\r\n", self._place, self._place + HEADERS)) < 0:
            if held >= HEADERS or not self._more(held + 1):
                self._place += 1  # else it would be found again
                raise Damage("a header that does not end")
            held = len(self._data) - self._place
        head = self._data[self._place : end]
        version, *lines = head.decode("utf-8", "replace").split("\r\n")
        if not version.startswith("WARC/"):
            raise Damage(f"no record where one should begin: {version[:40]!r}")
        self._place = end + 4
        pairs = (line.partition(":") for line in lines if ":" in line)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def _block(self, length: int) -> bytes:
        end = self._place + length if self._more(length + 4) else -1
        if end < 0 and len(self._data) - self._place < length:
            raise Damage("a record that breaks off")
        if end >= 0 and self._data[self._place + length : self._place + length + 4] != b"\r\n\r\n":
            raise Damage("a record that does not end where its length says")
        block = self._data[self._place : self._place + length]
        self._place += length
        return block

    def _seek_record(self) -> bool:
        """Go on to where the next record begins; whether there is one."""
        while not (match := BEGINNING.search(self._data, self._place)):
            self._place = max(self._place, len(self._data) - 8)
            if not self._more(len(self._data) - self._place + 1):
                return False
        self._place = match.start(1)
        return True

    def _more(self, size: int) -> bool:
        """Have so many bytes at hand, if there are as many."""
        if (held := len(self._data) - self._place) >= size:
            return True
        pieces = [self._data[self._place :]]
        self._data, self._place = b"", 0
        while held < size and (chunk := next(self._chunks, b"")):
            if isinstance(chunk, Damage):  # what came of its record before is no record; the next piece begins one
                raise chunk
            pieces.append(chunk)
            held += len(chunk)
        self._data = b"".join(pieces)
        return held >= size


def _members(content: io.BufferedReader) -> Iterator[bytes | Damage]:
    """What is in each gzip member, whole where it is not large; damage in place of one that has it.

    A member that fails is looked for the next one behind its beginning, so that one flipped bit costs one record.
    """
    data, taken, given = b"", 0, 0
    while data or (data := content.read1(CHUNK)):
        frame, held, size, begin = zlib.decompressobj(wbits=31), list[bytes](), 0, data
        try:
            while True:
                for piece in unpack_zlib(frame, data):
                    given, size = given + len(piece), size + len(piece)
                    if given > max(UNSUSPECTED, RATIO * (taken + len(data))):
                        raise Damage(f"a record that unpacks to more than {RATIO} times its size, which text does not")
                    held.append(piece)
                    if size > HELD:  # a file that is packed as one: what came is given before its checksum
                        yield b"".join(held)
                        held, size = [], 0
                if frame.eof:
                    taken += len(data) - len(frame.unused_data)
                    data = frame.unused_data
                    break
                taken += len(data)
                if not (data := content.read1(CHUNK)):
                    raise Damage("a record that breaks off: the compressed data is truncated")
            yield b"".join(held)
        except (zlib.error, Damage) as error:
            yield error if isinstance(error, Damage) else Damage(f"a record that is packed wrongly ({error})")
            given = min(given, RATIO * taken)
            data = _next_member(content, data[1:] if data is begin else data)


def _next_member(content: io.BufferedReader, data: bytes) -> bytes:
    """Bytes from where a gzip member may begin; none at the end."""
    while (place := data.find(MEMBER)) < 0:
        if not (chunk := content.read1(CHUNK)):
            return b""
        data = data[-2:] + chunk
    return data[place:]
