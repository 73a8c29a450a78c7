"""Documents on disk: numbered parquet files whose row groups are small enough to be read one by one.

folder/00000.parquet, folder/00001.parquet, …    columns text, source, line, number; in input order

`number` counts all the documents that were read, from 1: `removed.parquet` has those that were left out under theirs.
Where the corpus marks spans there is one more column: `spans`, a list of (start, end, kind), null where a text has
none; and where languages were told by the text: `language` and `language_score`.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unmask.corpus.marks import MARKS_TYPE

RAW = pa.schema([("text", pa.string()), ("source", pa.string()), ("line", pa.int64())])  # as it is read
SCHEMA = RAW.append(pa.field("number", pa.int64()))
LANGUAGE = (pa.field("language", pa.string()), pa.field("language_score", pa.float32()))
# All there may be; what no document has is left out in the end.
STAGED = pa.schema([*SCHEMA, pa.field("spans", MARKS_TYPE), *LANGUAGE])
ROW_GROUP = 8 << 20  # bytes of text, and BESIDES for the rest of each row
BESIDES = 32
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
        lengths = pc.binary_length(table["text"]).to_numpy()
        self.rows += table.num_rows
        self.text_bytes += int(lengths.sum())
        ends = np.cumsum(lengths.astype(np.int64) + BESIDES)
        start, before = 0, 0
        while start < len(ends):
            # The row that fills a group is its last, whichever tables the rows came in.
            stop = int(np.searchsorted(ends, before + ROW_GROUP - self._pending_bytes)) + 1
            stop = min(stop, len(ends))
            self._pending.append(table.slice(start, stop - start))
            self._pending_bytes += int(ends[stop - 1]) - before
            start, before = stop, int(ends[stop - 1])
            if self._pending_bytes >= ROW_GROUP:
                self._write()

    def _write(self) -> None:
        if self._writer is None:
            path = self._folder / f"{self._files:05}.parquet"
            self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
            self._files += 1
        table = pa.concat_tables(self._pending) if self._pending else self._schema.empty_table()
        # In one chunk: where chunks end, pages of the file would.
        self._writer.write_table(table.combine_chunks(), row_group_size=max(1, table.num_rows))
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
