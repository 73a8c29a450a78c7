"""Documents of data that is there already, to which others are added: kept as they are, on the side they are on.

In: the `documents` folder of a data directory. Out: its files as parts that are read, in front of the new ones, with
the digests and keys of their texts. Nothing of them is cleaned, judged or written again: a new document that says the
same as one of them is the duplicate, whatever the names of their files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unmask.corpus.engines.engine import Engine, run_parts
from unmask.corpus.parts import Part
from unmask.corpus.read.find import TextSource
from unmask.corpus.read.waves import OnBytes
from unmask.corpus.read_part import DOCUMENTS, KeyWriter, PartSummary
from unmask.corpus.staged import StagedPart
from unmask.records import Flags

SPLITS = ("train", "valid")


@dataclass(frozen=True)
class EarlierDocuments:
    """The documents of a data directory."""

    folder: Path  # with train and valid
    read: int = 0  # documents that were read for them: the numbers of new ones go on behind
    sources: frozenset[str] = frozenset()  # files that were read for them, and are not read again

    @cached_property
    def files(self) -> tuple[tuple[str, Path], ...]:
        """The split and the path of each file, in order."""
        return tuple((split, path) for split in SPLITS for path in sorted((self.folder / split).glob("*.parquet")))

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """How many documents each file has."""
        return tuple(pq.read_metadata(path).num_rows for _, path in self.files)

    @property
    def documents(self) -> int:
        """How many there are."""
        return sum(self.rows)

    @cached_property
    def is_valid(self) -> Flags:
        """N: those that are held out."""
        sides = [np.full(rows, split == "valid") for (split, _), rows in zip(self.files, self.rows, strict=True)]
        return np.concatenate([np.zeros(0, np.bool_), *sides])

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that they have."""
        return pq.read_schema(self.files[0][1])

    def parts(self, first: int) -> list[Part]:
        """A part for each file, numbered from there on."""
        files = (TextSource(str(path.absolute()), "parquet") for _, path in self.files)
        return [Part(number, (file,)) for number, file in enumerate(files, start=first)]

    def stage(self, stage: Path, parts: Sequence[Part], engine: Engine, *, near: bool) -> list[StagedPart]:
        """Its files as parts that are read."""
        folders = {part.number: stage.absolute() / f"earlier-{part.number}" for part in parts}
        run_parts(partial(_write_keys, folders=folders, near=near), parts, engine, lambda count, documents: None)
        begins = np.cumsum([0, *self.rows]).tolist()
        staged = zip(parts, self.rows, begins[:-1], strict=True)
        return [StagedPart(folders[part.number], PartSummary(kept=rows), begin, 0, 0) for part, rows, begin in staged]


def _write_keys(part: Part, report: OnBytes, *, folders: dict[int, Path], near: bool) -> None:
    """The digests and keys of a file's documents, and a link to them."""
    folder = folders[part.number]
    folder.mkdir(exist_ok=True)
    link = folder / DOCUMENTS
    link.unlink(missing_ok=True)
    link.symlink_to(part.sources[0].name)
    with pq.ParquetFile(link, pre_buffer=False) as file, KeyWriter(folder, near=near) as keys:
        for group in range(file.num_row_groups):
            keys.add(file.read_row_group(group, columns=["text"])["text"].combine_chunks())
