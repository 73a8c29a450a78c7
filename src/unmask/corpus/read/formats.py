"""The readers of text, JSONL, CSV and parquet: a stream of bytes to raw documents.

Each is a function (content, source, field) → Document | Malformed, one after the other, and holds no more
than a document at a time. Markup has its own module, `prose`.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.corpus.marks import marks_within, read_marks
from unmask.corpus.read.encodings import UTF8, not_decoded
from unmask.corpus.read.find import BINARY, TextSource
from unmask.corpus.read.remote import is_remote, open_remote
from unmask.records import Document, Mark

MAX_CHARACTERS = 100_000  # characters of a document; a tokenizer takes seconds for a line of megabytes
ROW = 64 << 20  # bytes of a JSON line, a CSV field or a page: more is not text but an accident
EXCERPT = 1_000  # characters kept of what could not be read


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line, a row or (line 0) a whole file that could not be read, and why."""

    source: str
    line: int
    reason: str
    text: str = ""  # how it begins


@dataclass(frozen=True, slots=True)
class TextlessPages:
    """A file some of whose pages gave no text: pictures of text, or blank."""

    source: str
    pages: int
    of: int  # pages
    line: int = 0


@dataclass(frozen=True, slots=True)
class Recoded:
    """A file that was not UTF-8, or not all of it, and was read in the encoding given for that."""

    source: str
    encoding: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A file inside of an archive that was not read: its suffix, or why."""

    source: str
    kind: str
    line: int = 0


class Unextracted(Exception):
    """Why a page gave no main text."""


Record = Document | Malformed | TextlessPages | Recoded | PassedOver


def read_text(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """A paragraph per line, a blank line between documents."""
    lines: list[tuple[int, bytes]] = []
    size = 0
    for line, text in _numbered_lines(content):
        blank = not text.strip()
        if lines and (blank or size + len(text) > MAX_CHARACTERS):
            yield from _decode_lines(lines, source)
            lines, size = [], 0
        if not blank:
            lines.append((line, text))
            size += len(text)
    if lines:
        yield from _decode_lines(lines, source)


def _numbered_lines(content: io.BufferedReader) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; an over-long one in pieces of at most MAX_CHARACTERS bytes, cut at whitespace."""
    line, tail = 1, b""
    while text := tail + content.readline(MAX_CHARACTERS - len(tail)):
        tail = b""
        if len(text) >= MAX_CHARACTERS and not text.endswith(b"\n"):
            end = _cut_place(text)
            text, tail = text[:end], text[end:]
        yield line, text.removeprefix(b"\xef\xbb\xbf") if line == 1 else text
        line += text.endswith(b"\n")


def _cut_place(text: bytes) -> int:
    """Where to cut UTF-8 that goes on: behind its last space, or else before its last character."""
    if (space := max(text.rfind(b" "), text.rfind(b"\t"))) > 0:
        return space + 1
    end = len(text) - 1
    while end > len(text) - 4 and text[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _decode_lines(lines: list[tuple[int, bytes]], source: TextSource) -> Iterator[Record]:
    """A document of these lines; the ones that are not UTF-8 are malformed, the others remain."""
    try:
        yield Document(b"".join(text for _, text in lines).decode(), source.name, lines[0][0])
        return
    except UnicodeDecodeError:
        good: list[str] = []
    for line, text in lines:
        try:
            good.append(text.decode())
        except UnicodeDecodeError as error:
            yield Malformed(source.name, line, _why(error, source), _excerpt(text))
    if good:
        yield Document("".join(good), source.name, lines[0][0])


def read_jsonl(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """A JSON object per line, its text in a field; `spans` may mark what is hidden together, see `marks`."""
    line = 0
    while data := content.readline(ROW):
        line += 1
        if len(data) == ROW and not data.endswith(b"\n"):
            yield Malformed(source.name, line, f"longer than {ROW >> 20} MB", _excerpt(data))
            while data and not data.endswith(b"\n"):
                data = content.readline(ROW)
        elif data.strip():
            try:
                row = json.loads(data.rstrip().decode("utf-8-sig"))
                value = _value(row, field)
                marks = read_marks(row.get("spans"), value) if field != "spans" else ()
            except (ValueError, RecursionError) as error:
                yield Malformed(source.name, line, _why(error, source), _excerpt(data))
            else:
                yield from cut_long_text(value, source.name, line, marks)


def _value(row: Any, field: str) -> str:
    """The text of a row, or why there is none."""
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    if field not in row:
        raise ValueError(f"no field {field!r}; there are {', '.join(map(repr, row)) or 'none'}")
    if not isinstance(row[field], str):
        raise ValueError(f"field {field!r} is not a string")
    text: str = row[field]
    text.encode()  # a lone surrogate is no text
    return text


def read_delimited(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """A table with a header, its text in a column; `.tsv` has tabs between, `.csv` commas."""
    csv.field_size_limit(ROW // 4)  # the reader takes four bytes a character
    # Bytes that are not UTF-8 come through as surrogates, so that they spoil their own row only.
    lines = io.TextIOWrapper(content, encoding="utf-8-sig", errors="surrogateescape", newline="")
    separator = "\t" if source.format == "tsv" else ","
    rows = csv.reader(iter(lambda: lines.readline(ROW), ""), delimiter=separator)
    header = next(rows, [])
    if header and field not in header:
        yield Malformed(
            source.name, 0, f"no column {field!r}; choose with --field among {', '.join(map(repr, header))}"
        )
        return
    while True:
        line, row = rows.line_num + 1, []
        try:
            if row := next(rows):
                yield from cut_long_text(_value(dict(zip(header, row, strict=False)), field), source.name, line)
        except StopIteration:
            return
        except (ValueError, csv.Error) as error:
            undecoded = isinstance(error, UnicodeEncodeError)
            reason = not_decoded(error, source.encoding) if undecoded else _why(error, source)
            data = separator.join(row).encode(errors="surrogateescape")
            yield Malformed(source.name, line, reason, _excerpt(data))


def read_parquet(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """A column of a parquet file; the line is the row's number, from 1."""
    line = 0
    try:
        with _seekable(content, source) as file:
            table = pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
            if problem := _unusable(table.schema_arrow, field):
                yield Malformed(source.name, 0, problem)
                return
            for batch in table.iter_batches(batch_size=1_000, columns=[field]):
                # As bytes: nobody has checked that they are UTF-8.
                for data in batch.column(0).cast(pa.large_binary()).to_pylist():
                    line += 1
                    yield from _cell_documents(data, source, line)
    except (pa.ArrowException, OSError) as error:
        yield Malformed(source.name, line, f"not parquet, or damaged ({str(error).splitlines()[0]})")


def _seekable(content: io.BufferedReader, source: TextSource) -> IO[bytes]:
    """Parquet is read from its end, so a compressed file is unpacked beside first."""
    if source.compression is None and not source.member:
        return open_remote(source.name) if is_remote(source.name) else Path(source.name).open("rb")
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 the caller closes it
    shutil.copyfileobj(content, unpacked)
    return unpacked


def _unusable(schema: pa.Schema, field: str) -> str | None:
    if field not in schema.names:
        return f"no column {field!r}; choose with --field among {', '.join(map(repr, schema.names))}"
    kind = schema.field(field).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    textual = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary
    return None if any(test(kind) for test in textual) else f"column {field!r} is {kind}, not strings"


def _cell_documents(data: bytes | None, source: TextSource, line: int) -> Iterator[Record]:
    try:
        if data is None:
            raise ValueError("null, not a string")
        yield from cut_long_text(data.decode(), source.name, line)
    except ValueError as error:
        yield Malformed(source.name, line, _why(error, source), _excerpt(data or b""))


def cut_long_text(text: str, name: str, line: int, marks: tuple[Mark, ...] = ()) -> Iterator[Document]:
    """A document, or an over-long one in pieces of at most MAX_CHARACTERS characters, cut at whitespace."""
    start = 0
    while len(text) - start > MAX_CHARACTERS:
        window = text[start : start + MAX_CHARACTERS]
        end = max(window.rfind(" "), window.rfind("\n"), window.rfind("\t")) + 1 or MAX_CHARACTERS
        yield Document(window[:end], name, line, marks_within(marks, start, start + end))
        start += end
    yield Document(text[start:] if start else text, name, line, marks_within(marks, start, len(text)))


def _why(error: Exception, source: TextSource) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "a lone surrogate, which is no character"
    if isinstance(error, UnicodeDecodeError):
        binary = source.format in BINARY
        return not_decoded(error, UTF8 if binary else source.encoding, remedy=not binary)
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg.removesuffix(' at')} at character {error.pos})"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _excerpt(data: bytes) -> str:
    return data[:EXCERPT].decode(errors="backslashreplace").rstrip()
