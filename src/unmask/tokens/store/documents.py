"""The clean documents of a split, read back from their parquet files, in the order of its tokens.

In: a folder of parquet files. Out: texts, the spans their corpus marks in them, and where they came from. Arrow is
loaded when text is read, and not before: training reads tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.records import Mark

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 256  # documents at a time: enough for every core to encode, little enough to stay out of the way
PLACES = 8  # that a sample of documents is taken from

Documents = tuple[list[str], list[list[Mark]]]  # texts, and the spans their corpus marks in each


def read_documents(folder: Path) -> Iterator[Documents]:
    """The documents of a split with their marks, some at a time."""
    for batch in _record_batches(folder, "text", "spans"):
        texts = batch.column("text").to_pylist()
        spans = batch.column("spans").to_pylist() if "spans" in batch.schema.names else [None] * len(texts)
        yield texts, [[(mark["start"], mark["end"], mark["kind"]) for mark in marks or ()] for marks in spans]


def read_sources(folder: Path) -> Iterator[tuple[str, str]]:
    """The source and the text of each document of a split."""
    for batch in _record_batches(folder, "source", "text"):
        sources, texts = (batch.column(name).to_pylist() for name in ("source", "text"))
        yield from zip(sources, texts, strict=True)


def read_texts_with_language(folder: Path) -> Iterator[tuple[str, str | None]]:
    """The text of each document of a split and its language, where that is kept."""
    for batch in _record_batches(folder, "text", "language"):
        texts = batch.column("text").to_pylist()
        kept = "language" in batch.schema.names
        yield from zip(texts, batch.column("language").to_pylist() if kept else [None] * len(texts), strict=True)


def read_origins(folder: Path) -> Iterator[tuple[str, str | None]]:
    """The source of each document of a split and its language, where that is kept."""
    for batch in _record_batches(folder, "source", "language"):
        sources = batch.column("source").to_pylist()
        kept = "language" in batch.schema.names
        yield from zip(sources, batch.column("language").to_pylist() if kept else [None] * len(sources), strict=True)


def sample_documents(folder: Path, characters: int) -> Iterator[str]:
    """The beginnings of up to eight row groups, evenly spaced: nothing else of the corpus is read."""
    import pyarrow.parquet as pq

    files = [pq.ParquetFile(path) for path in sorted(folder.glob("*.parquet"))]
    groups = [(file, group) for file in files for group in range(file.num_row_groups)]
    sample = groups[:: -(-len(groups) // PLACES) or 1]
    for file, group in sample:
        remaining = characters // len(sample)
        for text in file.read_row_group(group, columns=["text"]).column("text"):
            if remaining <= 0:
                break
            remaining -= len(text.as_py())
            yield text.as_py()
    for file in files:
        file.close()


def _record_batches(folder: Path, *columns: str) -> Iterator[pa.RecordBatch]:
    """Some rows at a time, with those of the columns that there are."""
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            present = [name for name in columns if name in file.schema_arrow.names]
            yield from file.iter_batches(BATCH, columns=present)
