"""Parts that are read and wait to be sifted: where they are, and their documents with their places in the corpus.

In: the folders that `read_part` has made, in reading order. Out: their documents, what was left out of them, and what
could not be read, with the numbers and lines of the whole corpus instead of those of a part.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unmask.corpus.parquet_writer import SCHEMA
from unmask.corpus.read_part import DOCUMENTS, QUARANTINE, REMOVED, PartSummary
from unmask.corpus.removed import removed_rows
from unmask.errors import TooManyLosses, Unreachable
from unmask.records import Flags, Integers, Reals


@contextmanager
def staging(path: Path) -> Iterator[Path]:
    """A folder for parts on the way, gone with the work; an interrupted run leaves it to the next one."""
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    except (TooManyLosses, Unreachable):  # whoever allows more of them, or tries later, need not read again
        raise
    except Exception:
        shutil.rmtree(path, ignore_errors=True)
        raise
    except BaseException:
        if not any(entry for entry in path.iterdir() if not entry.name.startswith(".")):
            shutil.rmtree(path, ignore_errors=True)
        raise
    shutil.rmtree(path, ignore_errors=True)


def staging_place(out: Path) -> Path:
    """Where the parts of what is made under a name are."""
    return out.with_name(f".{out.name}.parts")


@dataclass(frozen=True)
class StagedPart:
    """A part that is read: where it is, what is in it, and where its documents stand in the corpus."""

    folder: Path
    summary: PartSummary
    begin: int  # documents that may stay, in the parts before
    read_before: int  # documents read, in the parts before
    lines_before: int  # of its file, in the parts before

    @property
    def rows(self) -> slice:
        """Its documents among all that may stay."""
        return slice(self.begin, self.begin + self.summary.kept)

    def tables(self, columns: list[str]) -> Iterator[pa.Table]:
        """Its documents, a group of rows at a time, with their numbers and lines in the corpus."""
        with pq.ParquetFile(self.folder / DOCUMENTS, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                yield self.in_corpus(file.read_row_group(group, columns=columns))

    def removed(self) -> pa.Table:
        """What was left out when it was read."""
        return self.in_corpus(pq.read_table(self.folder / REMOVED))

    def in_corpus(self, table: pa.Table) -> pa.Table:
        """Rows with their numbers and lines in the corpus instead of those in the part."""
        for name, before in (("number", self.read_before), ("line", self.lines_before)):
            if before and name in table.column_names:
                column = pc.add(table[name], before)
                table = table.set_column(table.column_names.index(name), name, column)
        return table

    @property
    def problem(self) -> str:
        """The first thing in it that could not be read, if any."""
        if self.summary.problem is None:
            return ""
        source, line, reason = self.summary.problem
        return f"{source}:{line + self.lines_before}: {reason}" if line else f"{source}: {reason}"


@dataclass(frozen=True)
class KeptTwins:
    """The places of documents that were kept for others."""

    rows: Integers  # of each, its number among all that may stay; ascending
    places: pa.Table  # of each, its number, source and line

    @classmethod
    def of(cls, parts: Sequence[StagedPart], rows: Integers) -> KeptTwins:
        """The places of the documents of these numbers."""
        names = ["number", "source", "line"]
        places = [pa.schema([SCHEMA.field(name) for name in names]).empty_table()]
        for part in parts:
            begin, end = np.searchsorted(rows, (part.rows.start, part.rows.stop))
            if begin < end:
                places.append(pa.concat_tables(part.tables(names)).take(rows[begin:end] - part.begin).select(names))
        return cls(rows, pa.concat_tables(places))

    def removed(self, documents: pa.Table, twins: Integers, similarity: Reals, near: Flags) -> pa.Table:
        """Documents that are left out because of their twins."""
        places = self.places.take(np.searchsorted(self.rows, twins))
        columns = {"twin": places["number"], "twin_source": places["source"], "twin_line": places["line"]}
        steps = ["near-duplicate" if flag else "duplicate" for flag in near]
        return removed_rows(documents, steps, similarity=pa.array(similarity), **columns)


def join_quarantines(parts: Sequence[StagedPart], path: Path) -> None:
    """What could not be read of all parts, in order, with the lines of their files."""
    for part in parts:
        source = part.folder / QUARANTINE
        if not source.exists():
            continue
        with source.open(encoding="utf-8") as lines, path.open("a", encoding="utf-8") as joined:
            for line in lines:
                record = json.loads(line) if part.lines_before else None
                if record and record["line"]:
                    record["line"] += part.lines_before
                    line = json.dumps(record, ensure_ascii=False) + "\n"
                joined.write(line)
