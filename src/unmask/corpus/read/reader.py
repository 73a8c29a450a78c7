"""Sources to raw documents, one after the other, however large the file.

    TextSource ─open_source─▶ bytes ─a reader per format─▶ Document | Malformed

What cannot be read is a `Malformed` with its place and the reason, and reading goes on behind it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from unmask.corpus.read import builtin
from unmask.corpus.read.archives import read_tar
from unmask.corpus.read.byte_reader import open_source
from unmask.corpus.read.find import TextSource
from unmask.corpus.read.formats import Malformed, Recoded, Record, read_delimited, read_jsonl, read_parquet, read_text
from unmask.corpus.read.office import read_docx, read_pdf
from unmask.corpus.read.prose import read_html, read_markdown
from unmask.corpus.read.warc import read_warc


def read_source(
    source: TextSource,
    field: str = "text",
    on_bytes: Callable[[int], None] = lambda count: None,
    on_lines: Callable[[int], None] = lambda count: None,
) -> Iterator[Record]:
    """Every document of a source, in order.

    `on_bytes` hears of the bytes as they come from the disk, and `on_lines` in the end how many lines a stretch has.
    """
    if source.format == "builtin":
        yield from builtin.documents(on_bytes)
        return
    total = line = 0
    try:
        with open_source(source) as (content, reader):
            for record in READERS[source.format](content, source, field):
                line = record.line
                yield record
                if reader.bytes_read > total:
                    on_bytes(reader.bytes_read - total)
                    total = reader.bytes_read
            on_bytes(max(reader.bytes_read, source.size) - total)
            if source.end is not None:
                on_lines(reader.lines_read)
            if reader.recoded:
                yield Recoded(source.name, source.encoding)
            if reader.problem:
                yield Malformed(source.name, line, reader.problem)
    except OSError as error:
        yield Malformed(source.name, 0, error.strerror or str(error))


def read_stdin(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """JSONL when the first byte is a brace, else text."""
    reader = read_jsonl if content.peek(1)[:1] == b"{" else read_text
    return reader(content, source, field)


def read_archive(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """The files of a tar archive."""
    return read_tar(content, source, field, READERS)


READERS: dict[str, Callable[[io.BufferedReader, TextSource, str], Iterator[Record]]] = {
    "text": read_text,
    "jsonl": read_jsonl,
    "csv": read_delimited,
    "tsv": read_delimited,
    "parquet": read_parquet,
    "markdown": read_markdown,
    "html": read_html,
    "pdf": read_pdf,
    "docx": read_docx,
    "tar": read_archive,
    "warc": read_warc,
    "stdin": read_stdin,
}
