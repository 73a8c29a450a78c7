"""A part of a corpus to clean documents on disk: all that is done to a document alone, as one pure function.

    part ─read─▶ waves ─repair, clean, rules─▶ documents.parquet   what may stay, in order
                                               removed.parquet     what may not, each with the reason
                                               digests.bin         16 bytes for each document that may stay
                                               keys.bin, sizes.bin … and 136 where near-duplicates are looked for
                                               quarantine.jsonl    what could not be read
                                               summary.json        counts

The folder has its name when all of it is done. What is in it depends on the part and the settings alone, whoever makes
it: a process of this machine, or one of a cluster.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unmask.corpus.clean import clean_texts
from unmask.corpus.dedup import Digests, digest_texts
from unmask.corpus.marks import marks_column, marks_of, move_marks
from unmask.corpus.near.shingles import shingles_of
from unmask.corpus.near.signatures import band_keys
from unmask.corpus.parquet_writer import STAGED
from unmask.corpus.parts import Part
from unmask.corpus.read.formats import Malformed
from unmask.corpus.read.waves import CorpusReader, OnBytes
from unmask.corpus.removed import REMOVED_SCHEMA, removed_rows
from unmask.corpus.settings import CollectConfig
from unmask.files import whole_directory, write_text
from unmask.records import Mark

if TYPE_CHECKING:
    from unmask.corpus.rules.ruling import Ruling

DOCUMENTS, REMOVED, DIGESTS = "documents.parquet", "removed.parquet", "digests.bin"
QUARANTINE, SUMMARY = "quarantine.jsonl", "summary.json"
BAND_KEYS, SIZES = "keys.bin", "sizes.bin"  # uint64, N 16: see `near.signatures`; int32, N 2: characters and shingles

Rules = Callable[[Sequence[str], Sequence[tuple[Mark, ...]]], "list[Ruling]"]


@dataclass(kw_only=True)
class PartSummary:
    """What was read of a part, and what became of it."""

    read: int = 0
    malformed: int = 0
    kept: int = 0  # documents that may stay
    steps: Counter[str] = field(default_factory=Counter)  # documents that may not, by step
    dropped: Counter[str] = field(default_factory=Counter)  # … by rule
    changed: Counter[str] = field(default_factory=Counter)  # documents that a rule has changed, by rule
    languages: Counter[str] = field(default_factory=Counter)  # of the documents, where they were told
    touched: int = 0  # documents that share words with held-out items, and may stay
    leaked: list[int] = field(default_factory=list)  # runs of words of held-out items in documents that may not stay
    shared: list[int] = field(default_factory=list)  # … and in those that may
    bytes: int = 0  # from the disk, compressed as they were
    raw_bytes: int = 0  # of the texts as they were read, in UTF-8
    clean_bytes: int = 0  # of the texts as they are after cleaning and before anything is left out
    lines: int = 0  # of a stretch of a file: by so many the lines of the next one are further on
    pages_without_text: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)  # files inside of archives, by suffix or reason
    encodings: dict[str, str] = field(default_factory=dict)  # other than UTF-8, by source
    problem: tuple[str, int, str] | None = None  # the first: source, line and reason
    kinds: list[str] = field(default_factory=list)  # of the spans that are marked

    @classmethod
    def of(cls, folder: Path) -> PartSummary:
        """The summary of a part that is done."""
        fields = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        for name in ("steps", "dropped", "changed", "languages", "passed_over"):
            fields[name] = Counter(fields[name])
        return cls(**fields)


def read_part(part: Part, config: CollectConfig, folder: Path, out: Path, on_bytes: OnBytes) -> Path:
    """Read, clean and judge the documents of a part, unless that is done; where its folder is.

    `folder` holds those of all parts, and `out` is what the user calls what is being made.
    """
    done = folder / part.key(config.of_documents())
    if done.is_dir() and not part.here:
        on_bytes(part.size, 0)
        return done
    with whole_directory(done, part_of=out) as aside:
        reader = CorpusReader(part.sources, config.field, aside / QUARANTINE, on_bytes)
        summary = PartSummary()
        with PartWriter(aside, near=config.near_duplicates is not None) as writer:
            for wave in _judged_waves(reader.waves(), config, summary):
                writer.add(*wave)
        summary.read, summary.malformed, summary.bytes = reader.documents_read, reader.malformed_records, reader.bytes
        summary.lines = reader.lines
        summary.pages_without_text, summary.encodings = reader.pages_without_text, reader.encodings
        summary.passed_over = reader.passed_over
        summary.problem, summary.kinds = _place(reader.first_problem), sorted(reader.kinds)
        write_text(aside / SUMMARY, json.dumps(vars(summary)))
    return done


def _place(problem: Malformed | None) -> tuple[str, int, str] | None:
    return None if problem is None else (problem.source, problem.line, problem.reason)


def _judged_waves(
    waves: Iterator[pa.Table], config: CollectConfig, summary: PartSummary
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Of each wave what may stay and what may not."""
    rules = _rules_of(config)
    number = 1
    for wave in waves:
        table = _clean_wave(wave, config, summary)
        table = table.append_column("number", pa.array(np.arange(number, number + len(wave))))
        number += len(wave)
        summary.raw_bytes += pc.sum(pc.binary_length(wave["text"])).as_py()
        summary.clean_bytes += pc.sum(pc.binary_length(table["text"])).as_py()
        kept, short = _long_enough(table, config.min_characters)
        removed = [short]
        if rules is not None:
            kept, dropped = _ruled(kept, rules, summary)
            kept, short = _long_enough(kept, config.min_characters)  # rules may take lines away
            removed += [dropped, short]
        gone = pa.concat_tables(removed).sort_by("number")
        summary.steps.update(gone["step"].to_pylist())
        summary.kept += len(kept)
        yield kept.select(STAGED.names), gone


def _rules_of(config: CollectConfig) -> Rules | None:
    if not config.rules:
        return None
    from unmask.corpus.rules.apply import rules_of

    rules: Rules = rules_of(config.rules)
    return rules


def _clean_wave(wave: pa.Table, config: CollectConfig, summary: PartSummary) -> pa.Table:
    """Raw documents as clean ones, in the columns that are staged."""
    text = wave["text"].combine_chunks()
    spans = wave["spans"].combine_chunks() if "spans" in wave.column_names else None
    if config.rules is not None and config.rules.unicode:
        text, spans = _repaired(text, spans, summary)
    columns = {
        "text": clean_texts(text),
        "source": wave["source"],
        "line": wave["line"],
        "spans": move_marks(text, spans) if spans is not None else None,
    }
    fields = [schema_field for schema_field in STAGED if schema_field.name != "number"]
    arrays = [
        column if (column := columns.get(each.name)) is not None else pa.nulls(len(wave), each.type) for each in fields
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def _repaired(text: pa.Array, spans: pa.Array | None, summary: PartSummary) -> tuple[pa.Array, pa.Array | None]:
    """Texts with what was decoded wrongly put right, before cleaning takes away what shows it."""
    from unmask.corpus.rules.repair import repair_text

    texts = text.to_pylist()
    marks = marks_of(spans) if spans is not None else [()] * len(texts)
    repaired = [repair_text(*row) for row in zip(texts, marks, strict=True)]
    changed = sum(after is not before for before, (after, _) in zip(texts, repaired, strict=True))
    if not changed:
        return text, spans
    summary.changed["unicode"] += changed
    column = marks_column(marks for _, marks in repaired) if spans is not None else None
    return pa.array([after for after, _ in repaired], text.type), column


def _long_enough(documents: pa.Table, least: int) -> tuple[pa.Table, pa.Table]:
    """The documents that are long enough, and the others as removed."""
    characters = pc.utf8_length(documents["text"])
    short = documents.filter(pc.less(characters, least))
    steps = ["empty" if not text else "short" for text in short["text"].to_pylist()]
    return documents.filter(pc.greater_equal(characters, least)), removed_rows(short, steps)


def _ruled(documents: pa.Table, rules: Rules, summary: PartSummary) -> tuple[pa.Table, pa.Table]:
    """The documents as the rules leave them, and those that a rule drops as removed."""
    marked = documents["spans"].null_count < len(documents)
    marks = marks_of(documents["spans"]) if marked else [()] * len(documents)
    rulings = rules(documents["text"].to_pylist(), marks)
    for ruling in rulings:
        summary.changed.update(ruling.changed)
        if ruling.dropped is not None:
            summary.dropped[ruling.dropped] += 1
        if ruling.language is not None:
            summary.languages[ruling.language] += 1
        summary.touched += ruling.touched is not None
    summary.leaked = _united(summary.leaked, [ruling.shared for ruling in rulings if ruling.dropped is not None])
    summary.shared = _united(summary.shared, [ruling.shared for ruling in rulings if ruling.dropped is None])
    columns = {
        "text": pa.array([ruling.text for ruling in rulings], pa.string()),
        "language": pa.array([ruling.language for ruling in rulings], pa.string()),
        "language_score": pa.array([ruling.score for ruling in rulings], pa.float32()),
        **({"spans": marks_column(ruling.marks for ruling in rulings)} if marked else {}),
    }
    for name, column in columns.items():
        documents = documents.set_column(documents.column_names.index(name), name, column)
    drops = [ruling for ruling in rulings if ruling.dropped is not None]
    is_dropped = pa.array([ruling.dropped is not None for ruling in rulings], pa.bool_())
    removed = removed_rows(
        documents.filter(is_dropped),
        "rule",
        rule=pa.array([ruling.dropped for ruling in drops], pa.string()),
        value=pa.array([_figure(ruling.value) for ruling in drops], pa.float64()),
        limit=pa.array([_figure(ruling.limit) for ruling in drops], pa.float64()),
        detail=pa.array([_words(ruling) for ruling in drops], pa.string()),
    )
    return documents.filter(pc.invert(is_dropped)), removed


def _united(numbers: list[int], others: list[tuple[int, ...]]) -> list[int]:
    return sorted({*numbers, *(number for each in others for number in each)})


def _figure(value: float | str | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)


def _words(ruling: Ruling) -> str | None:
    """What a rule says in words, where it does not measure."""
    if isinstance(ruling.value, str) and isinstance(ruling.limit, str):
        return f"{ruling.value}, and not {ruling.limit}"
    return next((value for value in (ruling.value, ruling.limit) if isinstance(value, str)), None)


class PartWriter:
    """Writes the documents of a part, wave by wave."""

    def __init__(self, folder: Path, *, near: bool) -> None:
        self._folder = folder
        self._keys = KeyWriter(folder, near=near)
        self._files = ExitStack()

    def __enter__(self) -> PartWriter:
        open_writer = self._files.enter_context
        self._documents = open_writer(pq.ParquetWriter(self._folder / DOCUMENTS, STAGED, compression="lz4"))
        self._removed = open_writer(pq.ParquetWriter(self._folder / REMOVED, REMOVED_SCHEMA, compression="lz4"))
        open_writer(self._keys)
        return self

    def add(self, kept: pa.Table, removed: pa.Table) -> None:
        """Add what may stay of a wave, and what may not."""
        self._documents.write_table(kept)
        if len(removed):
            self._removed.write_table(removed)
        self._keys.add(kept["text"].combine_chunks())

    def __exit__(self, *_: object) -> None:
        self._files.close()


class KeyWriter:
    """Writes what documents are compared by, wave by wave."""

    def __init__(self, folder: Path, *, near: bool) -> None:
        self._folder = folder
        self._near = near
        self._files = ExitStack()

    def __enter__(self) -> KeyWriter:
        open_writer = self._files.enter_context
        self._digests = open_writer((self._folder / DIGESTS).open("wb"))
        if self._near:
            self._keys = open_writer((self._folder / BAND_KEYS).open("wb"))
            self._sizes = open_writer((self._folder / SIZES).open("wb"))
        return self

    def add(self, texts: pa.Array) -> None:
        """Add the digests of texts, and their keys where near-duplicates are looked for."""
        self._digests.write(b"".join(digest_texts(texts).to_pylist()))
        if self._near:
            shingles = shingles_of(texts.to_pylist())
            self._keys.write(band_keys(shingles).tobytes())
            sizes = pc.utf8_length(texts).to_numpy(), np.diff(shingles.ends, prepend=0)
            self._sizes.write(np.stack(sizes, axis=1).astype(np.int32).tobytes())

    def __exit__(self, *_: object) -> None:
        self._files.close()


def read_digests(folder: Path) -> Digests:
    """The digests of the documents of a part that is done."""
    return np.frombuffer((folder / DIGESTS).read_bytes(), dtype=">u8").astype(np.uint64).reshape(-1, 2)
