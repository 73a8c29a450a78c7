"""Reading sources: one after the other, documents gathered in waves, the malformed set aside.

A wave is a table of `WAVE` characters or a little more: what is in memory at a time, however large a
source. The quarantine is a JSON line for each malformed record: source, line, reason, and how it begins.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from unmask.corpus.marks import marks_column
from unmask.corpus.parquet_writer import RAW
from unmask.corpus.read.find import EXTRA_MODULES, TextSource
from unmask.corpus.read.formats import Malformed, PassedOver, Recoded, TextlessPages
from unmask.corpus.read.office import SCANNED, end_idle_workers
from unmask.corpus.read.reader import read_source
from unmask.errors import BadInput
from unmask.records import Document

WAVE = 4 << 20  # characters


OnBytes = Callable[[int, int], object]  # hears of bytes as they come from the disk, and of documents read so far


class CorpusReader:
    """Reads sources in waves, and counts what came in."""

    def __init__(
        self,
        sources: Sequence[TextSource],
        field: str,
        quarantine: Path,
        on_bytes: OnBytes = lambda count, documents: None,
    ) -> None:
        self.documents_read = 0
        self.malformed_records = 0
        self.bytes = 0  # from the disk, compressed as they were
        self.lines = 0  # of a stretch of a file
        self.pages_without_text = 0  # of PDF files
        self.encodings: dict[str, str] = {}  # other than UTF-8, by source
        self.passed_over: Counter[str] = Counter()  # files inside of archives, by suffix or reason
        self.first_problem: Malformed | None = None
        self.kinds: set[str] = set()  # of the spans that are marked
        self._sources = sources
        self._field = field
        self._quarantine = quarantine
        self._on_bytes = on_bytes

    def waves(self) -> Iterator[pa.Table]:
        """Tables of raw documents: text, source, line, and spans where some are marked."""
        try:
            yield from self._waves()
        finally:
            end_idle_workers()

    def _waves(self) -> Iterator[pa.Table]:
        documents: list[Document] = []
        characters = 0
        for document in self._documents():
            documents.append(document)
            characters += len(document.text)
            if characters >= WAVE:
                yield _document_table(documents)
                documents, characters = [], 0
        if documents:
            yield _document_table(documents)

    def _documents(self) -> Iterator[Document]:
        def on_bytes(count: int) -> None:
            self.bytes += count
            self._on_bytes(count, self.documents_read)

        def on_lines(count: int) -> None:
            self.lines += count

        for source in self._sources:
            for record in read_source(source, self._field, on_bytes, on_lines):
                if isinstance(record, Malformed):
                    self._set_aside(record, source)
                elif isinstance(record, TextlessPages):
                    self._count_pages(record)
                elif isinstance(record, PassedOver):
                    self.passed_over[record.kind] += 1
                elif isinstance(record, Recoded):
                    self.encodings[record.source] = record.encoding
                else:
                    self.documents_read += 1
                    self.kinds.update(kind for _, _, kind in record.marks)
                    yield record

    def _set_aside(self, record: Malformed, source: TextSource) -> None:
        if source.named and not record.line and source.format not in EXTRA_MODULES:
            raise BadInput(f"{record.source}: {record.reason}")
        self.malformed_records += 1
        self.first_problem = self.first_problem or record
        self._quarantine_line(record)

    def _count_pages(self, record: TextlessPages) -> None:
        """Pages without text are not malformed, for some are blank; which files have them is told all the same."""
        self.pages_without_text += record.pages
        if record.pages < record.of:
            reason = f"no text on {record.pages:,} of its {record.of:,} pages: {SCANNED}"
            self._quarantine_line(Malformed(record.source, 0, reason))

    def _quarantine_line(self, record: Malformed) -> None:
        with self._quarantine.open("a", encoding="utf-8", errors="backslashreplace") as file:
            print(json.dumps(asdict(record), ensure_ascii=False), file=file)


def _document_table(documents: list[Document]) -> pa.Table:
    # A file name may be bytes that are no text; where it is shown, they are spelled out.
    sources = [document.source.encode(errors="backslashreplace") for document in documents]
    texts, lines = [document.text for document in documents], [document.line for document in documents]
    table = pa.table([texts, pa.array(sources).cast(pa.string()), lines], schema=RAW)
    if any(document.marks for document in documents):
        return table.append_column("spans", marks_column(document.marks for document in documents))
    return table
