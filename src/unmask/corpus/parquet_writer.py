"""Documents on disk: numbered parquet files whose row groups are small enough to be read one by one.

folder/00000.parquet, folder/00001.parquet, …    columns text, source, line; in input order

Where the corpus marks spans there is one more: `spans`, a list of (start, end, kind), null where a text has none.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unmask.corpus.marks import MARKS_TYPE

SCHEMA = pa.schema([("text", pa.string()), ("source", pa.string()), ("line", pa.int64())])
SCHEMA_WITH_SPANS = SCHEMA.append(pa.field("spans", MARKS_TYPE))
ROW_GROUP = 8 << 20  # bytes of text and the rest, uncompressed
FILE = 512 << 20


class DocumentWriter:
    """Takes tables of any size and writes them as row groups of about `ROW_GROUP` bytes.

    Where groups and files end depends on the rows alone, so the same rows give the same files.
    """

    def __init__(self, folder: Path, schema: pa.Schema = SCHEMA) -> None:
        folder.mkdir(parents=True)
        self._schema = schema
        self.rows = 0
        self.text_bytes = 0
        self._folder = folder
        self._files = 0
        self._writer: pq.ParquetWriter | None = None
        self._pending: list[pa.Table] = []
        self._pending_bytes = 0
        self._written_bytes = 0

    def add(self, table: pa.Table) -> None:
        """Add rows behind the others."""
        self.rows += table.num_rows
        self.text_bytes += pc.sum(pc.binary_length(table["text"])).as_py() or 0
        self._pending.append(table)
        self._pending_bytes += table.nbytes
        if self._pending_bytes >= ROW_GROUP:
            self._write()

    def _write(self) -> None:
        if self._writer is None:
            path = self._folder / f"{self._files:05}.parquet"
            self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
            self._files += 1
        table = pa.concat_tables(self._pending) if self._pending else self._schema.empty_table()
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._written_bytes += self._pending_bytes
        self._pending, self._pending_bytes = [], 0
        if self._written_bytes >= FILE:
            self._close()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._written_bytes = None, 0

    def __enter__(self) -> DocumentWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and (self._pending or not self._files):
            self._write()
        self._close()
