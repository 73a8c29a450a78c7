"""The encoding of text that is not UTF-8: its name, and its bytes as UTF-8.

In: a name as a user gives it, or chunks of bytes. Out: the codec, or chunks of UTF-8. What does not decode stays as the
bytes it was, which are no UTF-8 either: so a reader finds the line it is on and sets that aside alone.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from difflib import get_close_matches
from encodings.aliases import aliases
from itertools import chain

from unmask.errors import BadInput

UTF8 = "utf-8"
LONGEST = 1 << 20  # bytes of a line that are looked at together
CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)


def check_encoding(name: str) -> None:
    """Refuse a name that is no encoding of text, with the one that may be meant."""
    if not _is_known(name):
        spelling = name.lower().replace("-", "_").replace(" ", "_")
        matches = filter(_is_known, get_close_matches(spelling, {*aliases, *aliases.values()}))
        match = next(matches, None)
        remedy = f"did you mean {match.replace('_', '-')}?" if match else "such as utf-8, latin-1 or utf-16"
        raise BadInput(f"encoding {name!r}: there is none of this name; {remedy}")


def _is_known(name: str) -> bool:
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return False
    return codec._is_text_encoding and codec.incrementaldecoder is not None


def is_utf8(name: str) -> bool:
    """Whether an encoding is UTF-8, by whichever of its names; every reader takes a byte order mark off."""
    return codecs.lookup(name).name in (UTF8, "utf-8-sig")


class Recoder:
    """Makes UTF-8 of text that may be in another encoding, and knows whether any of it was.

    What is valid UTF-8 is UTF-8: text in another encoding is that by accident hardly ever. It is told by the line, so
    that a spoilt one in a file of UTF-8 spoils no other; in an encoding whose lines do not end with the byte of ASCII
    (utf-16), by how the file begins. An HTML page that declares another encoding stays as it is: its reader knows.
    """

    def __init__(self, encoding: str, *, html: bool = False) -> None:
        self.recoded = False  # whether some of it was not UTF-8
        self._encoding = encoding
        self._html = html

    def as_utf8(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        r"""The same text in UTF-8.

        >>> b"".join(Recoder("latin-1").as_utf8(iter([b"caf\xe9\n caf\xc3", b"\xa9\n"]))).decode()
        'café\n café\n'
        """
        first = next(chunks, b"")
        chunks = chain([first], chunks)
        declared = declared_encoding(first) if self._html else None
        if declared and declared.lower() not in ("utf-8", "utf8"):
            yield from chunks
        elif keeps_ascii(self._encoding):
            yield from self._lines(chunks)
        elif _begins_as_utf8(first, self._encoding):
            yield from chunks
        else:
            self.recoded = True
            yield from _decoded(chunks, self._encoding)

    def _lines(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        rest = b""
        try:
            for chunk in chunks:
                rest += chunk
                if end := rest.rfind(b"\n") + 1:
                    block, rest = rest[:end], rest[end:]
                    yield block if _is_valid(block) else b"".join(map(self._line, block.splitlines(keepends=True)))
                if len(rest) > LONGEST:
                    piece, rest = self._piece(rest)
                    yield piece
        except Exception:  # a file that breaks off: what came before counts
            yield self._line(rest)
            raise
        yield self._line(rest)

    def _line(self, line: bytes) -> bytes:
        if _is_valid(line):
            return line
        self.recoded = True
        return line.decode(self._encoding, "surrogateescape").encode(errors="surrogateescape")

    def _piece(self, line: bytes) -> tuple[bytes, bytes]:
        """As much of a long line as ends with a whole character, and the rest."""
        try:
            _, size = codecs.utf_8_decode(line, "strict", False)
        except UnicodeDecodeError:
            self.recoded = True
            decoder = codecs.getincrementaldecoder(self._encoding)("surrogateescape")
            return decoder.decode(line).encode(errors="surrogateescape"), decoder.getstate()[0]
        return line[:size], line[size:]


def _decoded(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
    for chunk in chunks:
        if text := decoder.decode(chunk):
            yield text.encode(errors="surrogateescape")
    if text := decoder.decode(b"", final=True):
        yield text.encode(errors="surrogateescape")


def _is_valid(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def keeps_ascii(encoding: str) -> bool:
    """Whether each byte of ASCII is that character, so that a line ends where one of UTF-8 does.

    >>> [keeps_ascii(name) for name in ("latin-1", "shift_jis", "utf-16", "cp037", "iso2022_jp")]
    [True, True, False, False, False]
    """
    try:
        return bytes(range(128)).decode(encoding) == bytes(range(128)).decode("ascii") and not _escapes(encoding)
    except UnicodeError:
        return False


def _escapes(encoding: str) -> bool:
    """Whether an encoding spells all characters in the bytes of ASCII, as iso-2022-jp and utf-7 do."""
    spelling = "日".encode(encoding, "ignore")
    return bool(spelling) and spelling.isascii()


def _begins_as_utf8(data: bytes, encoding: str) -> bool:
    """Whether a file that begins so is UTF-8: utf-16 has zeros, and what is all ASCII may have escapes."""
    try:
        codecs.utf_8_decode(data, "strict", False)
    except UnicodeDecodeError:
        return False
    return b"\0" not in data and not (data.isascii() and _escapes(encoding))


def declared_encoding(page: bytes) -> str | None:
    """The encoding that an HTML page declares.

    >>> declared_encoding(b'<html><meta charset="windows-1251">'), declared_encoding(b"<html>")
    ('windows-1251', None)
    """
    charset = CHARSET.search(page[:4096])
    return charset[1].decode() if charset else None


def not_decoded(error: Exception, encoding: str, remedy: bool = True) -> str:
    r"""Why bytes are no text in an encoding, and which one they may be in, where another can be asked for.

    >>> try:
    ...     b"caf\xe9".decode()
    ... except UnicodeDecodeError as error:
    ...     print(not_decoded(error, "utf-8"))
    not UTF-8 (unexpected end of data at byte 3); if the file is latin-1, give --encoding latin-1 (UTF-8 stays UTF-8)

    >>> try:
    ...     b"\x7fELF\x00\xe9".decode()
    ... except UnicodeDecodeError as error:
    ...     print(not_decoded(error, "utf-8"))
    not UTF-8 (unexpected end of data at byte 5), and with zero bytes, as binary files have them
    """
    if not is_utf8(encoding):
        return f"neither UTF-8 nor {encoding}"
    place, other = "", "latin-1"
    if isinstance(error, UnicodeDecodeError):
        place = f" ({error.reason} at byte {error.start})"
        if bytes(error.object[:2]) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            other = "utf-16"
        elif b"\0" in error.object:  # which no latin-1 text has
            return f"not UTF-8{place}, and with zero bytes, as binary files have them"
    if not remedy:
        return f"not UTF-8{place}"
    return f"not UTF-8{place}; if the file is {other}, give --encoding {other} (UTF-8 stays UTF-8)"
