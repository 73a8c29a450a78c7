"""The shingles of documents that share a key with another, from the staged parts: what families are verified by.

In: a part that is read, and the rows of it that are wanted. Out: beside it, their shingles as sets, which the one that
decides maps into memory. Like reading, it is a function over a part that any process can run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from unmask.corpus.near.shingles import Hashes, shingles_of
from unmask.corpus.read_part import DOCUMENTS
from unmask.records import Integers

WANTED, SETS, ENDS = "wanted.bin", "shingles.bin", "shingle_ends.bin"


def want_shingles(folder: Path, rows: Integers) -> None:
    """Say which rows of a part are wanted."""
    (folder / WANTED).write_bytes(rows.astype(np.int64).tobytes())


def write_shingles(folder: Path) -> None:
    """Write the shingles of the rows that are wanted: of each those it has, ascending, and where they end."""
    rows = np.frombuffer((folder / WANTED).read_bytes(), np.int64)
    ends, end = [], 0
    with (folder / SETS).open("wb") as file:
        for texts in staged_texts(folder, rows):
            shingles = shingles_of(texts)
            for one in np.split(shingles.hashes, shingles.ends[:-1]):
                one = np.unique(one)
                file.write(one.tobytes())
                end += len(one)
                ends.append(end)
    (folder / ENDS).write_bytes(np.array(ends, np.int64).tobytes())


def staged_texts(folder: Path, rows: Integers) -> Iterator[list[str]]:
    """The texts of some rows of a part, ascending, a group at a time; groups without any are not read."""
    with pq.ParquetFile(folder / DOCUMENTS, pre_buffer=False) as file:
        begin = 0
        for group in range(file.num_row_groups):
            end = begin + file.metadata.row_group(group).num_rows
            within = rows[slice(*np.searchsorted(rows, (begin, end)))] - begin
            if len(within):
                yield file.read_row_group(group, columns=["text"])["text"].take(within).to_pylist()
            begin = end


class CandidateShingles:
    """The shingles of all documents that are wanted, mapped from the parts, and of probes, which are nowhere else."""

    def __init__(self, folders: Sequence[tuple[Path, int]], probes: Sequence[str]) -> None:
        self._sets: list[Hashes] = []
        for folder, count in folders:
            size = (folder / SETS).stat().st_size // 8
            mapped = np.memmap(folder / SETS, np.uint64, "r", shape=(size,)) if size else np.empty(0, np.uint64)
            ends = np.frombuffer((folder / ENDS).read_bytes(), np.int64)
            assert len(ends) == count
            self._sets += np.split(np.asarray(mapped), ends[:-1])
        self._sets += [np.unique(shingles_of([probe]).hashes) for probe in probes]

    def __call__(self, number: int) -> Hashes:
        """The shingles of one, ascending."""
        return self._sets[number]
