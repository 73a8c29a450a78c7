"""The encoding of text that is not UTF-8: its name, and its bytes as UTF-8.

In: a name as a user gives it, or chunks of bytes. Out: the codec, or chunks of UTF-8. What does not decode stays as the
bytes it was, which are no UTF-8 either: so a reader finds the line it is on and sets that aside alone.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from difflib import get_close_matches
from encodings.aliases import aliases

from unmask.errors import BadInput

UTF8 = "utf-8"


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
    """Whether an encoding is UTF-8, by whichever of its names."""
    return codecs.lookup(name).name == UTF8


def as_utf8(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    r"""The same text in UTF-8.

    >>> b"".join(as_utf8(iter([b"caf\xe9 \xff\x00", b"\n"]), "latin-1")).decode()
    'café ÿ\x00\n'
    """
    decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
    for chunk in chunks:
        if text := decoder.decode(chunk):
            yield text.encode(errors="surrogateescape")
    if text := decoder.decode(b"", final=True):
        yield text.encode(errors="surrogateescape")


def not_decoded(error: Exception, encoding: str, remedy: bool = True) -> str:
    r"""Why bytes are no text in an encoding, and which one they may be in, where another can be asked for.

    >>> try:
    ...     b"caf\xe9".decode()
    ... except UnicodeDecodeError as error:
    ...     print(not_decoded(error, "utf-8"))
    not UTF-8 (unexpected end of data at byte 3); if the file is latin-1, give --encoding latin-1
    """
    if not is_utf8(encoding):
        return f"not {encoding}"
    place, other = "", "latin-1"
    if isinstance(error, UnicodeDecodeError):
        place = f" ({error.reason} at byte {error.start})"
        if bytes(error.object[:2]) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            other = "utf-16"
    if not remedy:
        return f"not UTF-8{place}"
    return f"not UTF-8{place}; if the file is {other}, give --encoding {other}"
