"""The way from sources to clean documents on disk: read, clean, deduplicate, split.

    sources ─read─▶ waves ─plan: clean, digest─▶ staged ─dedup, split─▶ train/*.parquet, valid/*.parquet

The plan is written in Daft. It runs once for every wave, because Daft's embedded engine (0.7) takes in all a
source gives before it gives anything back; so memory holds a few waves however large the corpus is, and a
wave is read while the one before it is cleaned. What stays and on which side is then told from 16 bytes a
document. On a cluster the plan is the same and only what feeds it differs: it holds no state.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import daft
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from daft import DataFrame, DataType, Series, col

from unmask.corpus.clean import clean_texts
from unmask.corpus.dedup import Digests, digest_texts, first_occurrences
from unmask.corpus.marks import MARKS_TYPE, move_marks
from unmask.corpus.parquet_writer import SCHEMA, SCHEMA_WITH_SPANS, DocumentWriter
from unmask.corpus.read.encodings import UTF8, check_encoding
from unmask.corpus.read.find import TextSource, find_sources
from unmask.corpus.read.waves import CorpusReader
from unmask.corpus.split import held_out
from unmask.errors import BadInput, Refused
from unmask.files import whole_directory
from unmask.progress import task
from unmask.records import SPAN_KINDS, Flags

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class CollectConfig:
    """What counts as a document, and how much of the corpus is held out."""

    field: str = "text"  # where JSONL, CSV and parquet have their text
    min_characters: int = 20  # shorter documents are left out
    valid: float = 0.01  # the fraction held out for validation
    encoding: str = UTF8  # of what is not UTF-8 among text, JSONL, CSV, Markdown and HTML

    def __post_init__(self) -> None:
        if not 0 < self.valid < 1:
            raise BadInput(f"valid is {self.valid}: give a fraction between 0 and 1, such as 0.01")
        if self.min_characters < 1:
            raise BadInput(f"min_characters is {self.min_characters}: give 1 or more")
        check_encoding(self.encoding)


@dataclass(frozen=True, kw_only=True)
class CollectedCorpus:
    """A corpus on disk: what was read, what was left out and why, and what is there now."""

    path: Path
    files: int
    bytes_read: int  # from the disk, compressed as they were
    counts: dict[str, int]  # read, malformed, empty, short, duplicate, train, valid, in that order
    text_bytes: dict[str, int]  # of the documents of each split, as UTF-8
    fingerprint: str  # SHA-256 over the digests of the documents kept, in order
    kinds: tuple[str, ...] = ()  # of the spans that the sources mark
    pages_without_text: int  # of PDF files
    formats: dict[str, int]  # how many files were of each, most first
    encodings: dict[str, int]  # other than UTF-8: how many files were read in them
    passed_over: dict[str, int]  # files of a folder or a glob that were not read, by suffix or reason, most first


def collect_corpus(sources: Sequence[str], out: Path, *, config: CollectConfig | None = None) -> CollectedCorpus:
    """Read, clean, deduplicate and split; `out` is there when all of it is done, and not before."""
    config = config or CollectConfig()
    passed_over: dict[str, str] = {}
    files = [replace(file, encoding=config.encoding) for file in find_sources(sources, passed_over.__setitem__)]
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise Refused(f"{out}: is already there; remove it, or name another place")
    with whole_directory(out) as folder:
        reader = CorpusReader(files, config.field, folder / "quarantine.jsonl")
        stage = folder / "staged.parquet"
        digests, empty, short = _stage_documents(reader.waves(), stage, config.min_characters)
        counts = {"read": reader.documents_read, "malformed": reader.malformed_records, "empty": empty, "short": short}
        if not len(digests):
            raise BadInput(_nothing_left(files, counts, config, reader.first_problem))
        stays = first_occurrences(digests)
        is_valid = np.zeros_like(stays)
        is_valid[stays] = held_out(digests[stays], config.valid)
        schema = SCHEMA_WITH_SPANS if reader.kinds else SCHEMA
        train, valid = _sift(stage, schema, {folder / "train": stays & ~is_valid, folder / "valid": is_valid})
        stage.unlink()
    return CollectedCorpus(
        path=out,
        files=len(files),
        bytes_read=reader.bytes,
        counts=counts | {"duplicate": int((~stays).sum()), "train": train.rows, "valid": valid.rows},
        text_bytes={"train": train.text_bytes, "valid": valid.text_bytes},
        fingerprint=hashlib.sha256(digests[stays].astype(">u8").tobytes()).hexdigest(),
        kinds=tuple(kind for kind in SPAN_KINDS if kind in reader.kinds),
        pages_without_text=reader.pages_without_text,
        formats=dict(Counter(file.format for file in files).most_common()),
        encodings=dict(reader.encodings),
        passed_over=_kinds_passed_over(passed_over, files),
    )


def _kinds_passed_over(kinds: dict[str, str], files: Sequence[TextSource]) -> dict[str, int]:
    """How many files of each kind were passed over: what one argument passes over, another may name."""
    counts = Counter(kinds[name] for name in kinds.keys() - {source.name for source in files})
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


@daft.func.batch(return_dtype=DataType.string())
def _clean(text: Series) -> pa.Array:
    return clean_texts(text.to_arrow())


@daft.func.batch(return_dtype=DataType.binary())
def _digest(text: Series) -> pa.Array:
    return digest_texts(text.to_arrow())


@daft.func.batch(return_dtype=DataType.from_arrow_type(MARKS_TYPE))
def _move_spans(text: Series, spans: Series) -> pa.Array:
    return move_marks(text.to_arrow(), spans.to_arrow())


def clean_plan(documents: DataFrame) -> DataFrame:
    """Raw documents (text, source, line, and perhaps spans) to clean ones, with their lengths and digests."""
    if "spans" in documents.column_names:
        # Under names of their own: Daft 0.7 puts a function that overwrites a column before those that read it.
        documents = documents.with_column("moved", _move_spans(col("text"), col("spans")))
        documents = documents.with_column("clean", _clean(col("text")))
        documents = documents.select("source", "line", spans=col("moved"), text=col("clean"))
    else:
        documents = documents.with_column("text", _clean(col("text")))
    return documents.with_column("characters", col("text").length()).with_column("digest", _digest(col("text")))


def _stage_documents(waves: Iterable[pa.Table], path: Path, min_characters: int) -> tuple[Digests, int, int]:
    """Clean documents to a file, in order; their digests, and how many were empty and how many short."""
    digests: list[Digests] = []
    empty = short = 0
    with pq.ParquetWriter(path, SCHEMA_WITH_SPANS, compression="lz4") as writer:

        def work(wave: pa.Table) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
            table = clean_plan(daft.from_arrow(wave)).to_arrow()
            long_enough = table.filter(pc.field("characters") >= min_characters)
            if "spans" not in table.column_names:
                long_enough = long_enough.append_column("spans", pa.nulls(len(long_enough), MARKS_TYPE))
            writer.write_table(long_enough.select(SCHEMA_WITH_SPANS.names).cast(SCHEMA_WITH_SPANS))
            return table["characters"], long_enough["digest"]

        for characters, digest_column in _read_ahead(work, waves):
            empty += pc.sum(pc.equal(characters, 0)).as_py()
            short += len(characters) - len(digest_column)
            digests.append(np.frombuffer(b"".join(digest_column.to_pylist()), dtype=">u8").astype(np.uint64))
    return np.concatenate([np.empty(0, np.uint64), *digests]).reshape(-1, 2), empty, short - empty


def _read_ahead(work: Callable[[pa.Table], Result], waves: Iterable[pa.Table]) -> Iterator[Result]:
    """What `work` makes of each wave, in order, a wave being read while the one before it is worked on."""
    with ThreadPoolExecutor(1) as worker:
        before: Future[Result] | None = None
        for wave in waves:
            future = worker.submit(work, wave)
            if before is not None:
                yield before.result()
            before = future
        if before is not None:
            yield before.result()


def _sift(stage: Path, schema: pa.Schema, flags: dict[Path, Flags]) -> list[DocumentWriter]:
    """The staged documents that are flagged for a folder, written there in order."""
    with ExitStack() as stack:
        writers = [(stack.enter_context(DocumentWriter(folder, schema)), stays) for folder, stays in flags.items()]
        file = stack.enter_context(pq.ParquetFile(stage, pre_buffer=False))
        step = stack.enter_context(task("Sifting", total=file.metadata.num_rows))
        row = 0
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=schema.names)
            for writer, stays in writers:
                writer.add(table.filter(pa.array(stays[row : row + table.num_rows])))
            row += table.num_rows
            step(table.num_rows, note="documents")
        return [writer for writer, _ in writers]


def _nothing_left(files: Sequence[TextSource], counts: dict[str, int], config: CollectConfig, problem: str) -> str:
    if not counts["read"] and not problem:
        others = f", nor in {len(files) - 1:,} others" if len(files) > 1 else ""
        return f"{files[0].name}: no text in it{others}: nothing, or nothing but blank lines"
    short = f"{counts['short']} shorter than {config.min_characters} characters"
    malformed = f"{counts['malformed']} malformed" + (f" (first {problem})" if problem else "")
    return (
        f"no document is left of {counts['read']} read from {len(files)} file{'s' * (len(files) != 1)}: "
        f"{malformed}, {counts['empty']} empty, {short}"
    )
