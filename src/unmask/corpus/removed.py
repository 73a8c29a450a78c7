"""What was left out, and why: a row for each document that was read and is not in the data.

number, source, line     which: its number in reading order, from 1, and its place
step                     empty, short, rule, duplicate or near-duplicate
rule, value, limit       of a rule: its name, what it measured and what it allows; `detail` where those are words
twin, twin_source, …     of a duplicate: the number and the place of the document that was kept instead
similarity               of the two: the exact Jaccard similarity of their shingles, 1 of the same text
bytes, excerpt           of its clean text: its size, and how it begins
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

REMOVED_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("source", pa.string()),
        ("line", pa.int64()),
        ("step", pa.string()),
        ("rule", pa.string()),
        ("value", pa.float64()),
        ("limit", pa.float64()),
        ("detail", pa.string()),
        ("twin", pa.int64()),
        ("twin_source", pa.string()),
        ("twin_line", pa.int64()),
        ("similarity", pa.float64()),
        ("bytes", pa.int64()),
        ("excerpt", pa.string()),
    ]
)
EXCERPT = 240  # characters
ROW_GROUP = 16_384  # rows


def removed_rows(documents: pa.Table, step: str | Sequence[str], **columns: pa.Array) -> pa.Table:
    """Documents that are left out at a step, as rows of the table; what is not given of them is null."""
    steps = pa.array([step] * len(documents) if isinstance(step, str) else step, pa.string())
    fields = {
        **{name: documents[name] for name in ("number", "source", "line")},
        "step": steps,
        "bytes": pc.binary_length(documents["text"]),
        "excerpt": pc.utf8_slice_codeunits(documents["text"], 0, EXCERPT),
        **columns,
    }
    absent = pa.nulls(len(documents))
    return pa.table([fields.get(name, absent) for name in REMOVED_SCHEMA.names], REMOVED_SCHEMA.names).cast(
        REMOVED_SCHEMA
    )


class RemovedWriter:
    """Writes the table, the same bytes for the same rows; where nothing was removed there is no file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None
        self._pending = REMOVED_SCHEMA.empty_table()

    def add(self, rows: pa.Table) -> None:
        """Add rows behind the others."""
        self._pending = pa.concat_tables([self._pending, rows.select(REMOVED_SCHEMA.names)])
        while len(self._pending) >= ROW_GROUP:
            self._write(self._pending.slice(0, ROW_GROUP))
            self._pending = self._pending.slice(ROW_GROUP)

    def _write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, REMOVED_SCHEMA, compression="zstd")
        self._writer.write_table(rows.combine_chunks())

    def __enter__(self) -> RemovedWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and len(self._pending):
            self._write(self._pending)
        if self._writer is not None:
            self._writer.close()
