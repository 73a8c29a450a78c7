"""What a server answered, as a web archive keeps it: status, header and body, with the body's wrapping taken off.

In: the bytes of an HTTP response. Out: an `HttpAnswer`. A body may be in chunks and compressed; it is unpacked within
the bounds that pages have. What cannot be read is a ValueError that says why.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message

from unmask.corpus.read.byte_reader import RATIO, UNSUSPECTED
from unmask.corpus.read.formats import ROW

PLAIN = ("", "identity")
WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # bits, as zlib wants them


@dataclass(frozen=True)
class HttpAnswer:
    """An HTTP response."""

    status: int
    header: Message
    payload: bytes  # as it came

    @property
    def content_type(self) -> str:
        """What the body is, in small letters; empty where nobody said."""
        return self.header.get_content_type() if "content-type" in self.header else ""

    @property
    def charset(self) -> str | None:
        """The encoding that the server says."""
        return self.header.get_content_charset()

    def body(self) -> bytes:
        """The body as the server had it; a crawler may have unwrapped it, and left the header as it was."""
        data = self.payload
        if self.header.get("transfer-encoding", "").lower() == "chunked":
            data = _joined_chunks(data)
        for coding in reversed(self.header.get("content-encoding", "").lower().replace(" ", "").split(",")):
            if coding in WINDOWS:
                data = _unpacked(data, WINDOWS[coding])
            elif coding not in PLAIN and not _looks_plain(data):
                raise ValueError(f"a page packed with {coding}, which is not read")
        return data


def read_answer(block: bytes) -> HttpAnswer:
    """The response that a record holds."""
    head, _, payload = block.partition(b"\r\n\r\n")
    status_line, _, lines = head.partition(b"\r\n")
    version, _, rest = status_line.decode("latin-1").partition(" ")
    if not version.startswith("HTTP/") or not rest[:3].isdigit():
        raise ValueError("an answer that is no HTTP")
    header = Message()
    for line in lines.decode("latin-1").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon and name.strip():
            header[name.strip()] = value.strip()
    return HttpAnswer(int(rest[:3]), header, payload)


def _joined_chunks(data: bytes) -> bytes:
    """A body that was sent in chunks; one that a crawler has joined already is as it is."""
    parts, place = list[bytes](), 0
    while (end := data.find(b"\r\n", place, place + 64)) >= 0:
        try:
            size = int(data[place:end].partition(b";")[0], 16)
        except ValueError:
            break
        if not size:
            return b"".join(parts)
        parts.append(data[end + 2 : end + 2 + size])
        place = end + 2 + size + 2
    if place == 0:
        return data
    raise ValueError("a page whose chunks do not fit together")


def _unpacked(data: bytes, window: int) -> bytes:
    """A packed body; one that a crawler has unpacked already is as it is."""
    if _looks_plain(data):
        return data
    for bits in (window, -15):  # some send deflate without its header
        decoder = zlib.decompressobj(bits)
        with suppress(zlib.error):
            unpacked = decoder.decompress(data, ROW + 1)
            if len(unpacked) > min(ROW, max(UNSUSPECTED, RATIO * len(data))):
                raise ValueError(f"a page of more than {ROW >> 20} MB, unpacked")
            if decoder.eof:
                return unpacked
    raise ValueError("a page that is packed wrongly, or cut off")


def _looks_plain(data: bytes) -> bool:
    return data[:512].lstrip()[:1] == b"<"
