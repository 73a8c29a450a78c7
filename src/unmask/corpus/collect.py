"""The way from sources to clean documents on disk: read, clean, deduplicate, split.

    sources ─cut─▶ parts ─read_part, each for itself─▶ staged parts ─decide─▶ sift ─▶ train/*.parquet, valid/*.parquet
                                                                                      removed.parquet

Everything that is done to a document alone is done in `read_part`, by any number of processes on any number of
machines. Everything that takes the others into account (which was first, and on which side it is) is decided here, from
16 bytes a document, in reading order. So who reads, how many and in what portions changes no byte; and a run that was
interrupted goes on with the parts that are not there yet.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from unmask.corpus.dedup import Digests, first_of_each
from unmask.corpus.earlier import EarlierDocuments
from unmask.corpus.engines.engine import Engine, run_parts
from unmask.corpus.leaks import Leak, measure_leak, write_seen
from unmask.corpus.near.candidates import write_shingles
from unmask.corpus.near.decide import find_near_duplicates
from unmask.corpus.near.probes import Recall
from unmask.corpus.parquet_writer import LANGUAGE, SCHEMA, STAGED, DocumentWriter
from unmask.corpus.parts import Part, cut_parts, part_size
from unmask.corpus.read.find import TextSource, find_sources
from unmask.corpus.read.waves import OnBytes
from unmask.corpus.read_part import QUARANTINE, REMOVED, PartSummary, read_digests, read_part
from unmask.corpus.removed import RemovedWriter
from unmask.corpus.settings import CollectConfig
from unmask.corpus.split import by_digest, held_out
from unmask.corpus.staged import KeptTwins, StagedPart, join_quarantines, staging, staging_place
from unmask.errors import BadInput, Refused, TooManyLosses
from unmask.files import whole_directory
from unmask.progress import task
from unmask.records import SPAN_KINDS, Flags, Integers, Reals
from unmask.results import Decontaminated

FEW = 10  # documents that may be unreadable, however small the corpus

RunOver = Callable[[Sequence[StagedPart]], object]  # has something written beside parts


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
    dropped: dict[str, int] = field(default_factory=dict)  # documents left out by each rule, most first
    changed: dict[str, int] = field(default_factory=dict)  # documents that each rule changed, most first
    languages: dict[str, int] = field(default_factory=dict)  # documents in each, where the text told it, most first
    decontaminated: Decontaminated | None = None  # what the documents had of held-out items, where some are given
    recall: Recall | None = None  # of near-duplicates: how many of texts made to be such were caught
    leak: Leak | None = None  # of held-out text into the training text, where it was measured


@dataclass(frozen=True)
class Decision:
    """What is decided over all documents that may stay, from their digests."""

    twins: Integers  # N, of each the number of the one that is kept for it; its own where that is itself
    similarity: Reals  # N, with it
    near: Flags  # N, left out for one that is not quite the same
    is_valid: Flags  # N, held out
    recall: Recall | None = None  # of near-duplicates, where they were looked for

    @property
    def kept_twins(self) -> Integers:
        """The documents for which others are left out, ascending."""
        kept: Integers = np.unique(self.twins[~self.stays])
        return kept

    @property
    def stays(self) -> Flags:
        """N, the documents that are kept."""
        flags: Flags = self.twins == np.arange(len(self.twins))
        return flags


def collect_corpus(
    sources: Sequence[str],
    out: Path,
    *,
    config: CollectConfig | None = None,
    engine: Engine | None = None,
    stage: Path | None = None,
    known_as: Path | None = None,
    part_bytes: int | None = None,
    earlier: EarlierDocuments | None = None,
) -> CollectedCorpus:
    """Read, clean, deduplicate and split; `out` is there when all of it is done, and not before.

    `stage` is the folder for parts on the way, where whoever calls keeps one for longer than this, and `known_as` what
    the user calls what is being made, if that is not `out`. With `earlier` documents, what is collected is what is new
    beside them.
    """
    if stage is None:
        _check_absent(out)
        with staging(staging_place(out)) as own:
            return collect_corpus(sources, out, config=config, engine=engine, stage=own, part_bytes=part_bytes)
    config = config or CollectConfig()
    passed_over: dict[str, str] = {}
    earlier = earlier or EarlierDocuments(Path("nowhere"))
    found = [file for file in find_sources(sources, passed_over.__setitem__) if file.name not in earlier.sources]
    files = [replace(file, encoding=config.encoding, html=config.html) for file in found]
    engine = engine or Engine()
    cut = cut_parts(files, part_bytes or part_size(files))
    parts = _read_parts(cut, config, stage, known_as or out, engine, earlier)
    counts = _sums(parts)
    if not sum(part.summary.kept for part in parts):
        raise BadInput(_nothing_left(files, counts, config, parts))
    _check_losses(counts, config, parts, known_as or out)
    cut = [*earlier.parts(len(cut)), *cut]
    before = cut[: len(earlier.files)]
    all_parts = [*earlier.stage(stage, before, engine, near=config.near_duplicates is not None), *parts]
    digests = np.concatenate([read_digests(part.folder) for part in all_parts])
    parts_of = dict(zip((part.folder for part in all_parts), cut, strict=True))
    run = partial(_run_over, write_shingles, parts=parts_of, engine=engine)
    decision = _decide(digests, config, all_parts, run, earlier.is_valid)
    leak = None
    if config.leaks:
        look = partial(_run_over, write_seen, parts=parts_of, engine=engine)
        leak = _leak(all_parts, digests, decision, config, look)
    kinds = {kind for part in parts for kind in part.summary.kinds}
    languages = _added(part.summary.languages for part in parts)
    with whole_directory(out) as folder:
        join_quarantines(parts, folder / QUARANTINE)
        schema = pa.schema([*SCHEMA, *([STAGED.field("spans")] if kinds else []), *(LANGUAGE if languages else ())])
        train, valid = _sift(parts, KeptTwins.of(all_parts, decision.kept_twins), decision, folder, schema)
    stays = decision.stays
    return CollectedCorpus(
        path=out,
        files=len(files),
        bytes_read=sum(part.summary.bytes for part in parts),
        counts=counts | _duplicates(decision, config) | {"train": train.rows, "valid": valid.rows},
        text_bytes={"train": train.text_bytes, "valid": valid.text_bytes},
        fingerprint=hashlib.sha256(digests[stays].astype(">u8").tobytes()).hexdigest(),
        kinds=tuple(kind for kind in SPAN_KINDS if kind in kinds),
        pages_without_text=sum(part.summary.pages_without_text for part in parts),
        formats=dict(Counter(file.format for file in files).most_common()),
        encodings=dict(Counter({k: v for part in parts for k, v in part.summary.encodings.items()}.values())),
        passed_over=_kinds_passed_over(passed_over, files, _added(part.summary.passed_over for part in parts)),
        dropped=dict(_added(part.summary.dropped for part in parts).most_common()),
        changed=dict(_added(part.summary.changed for part in parts).most_common()),
        languages=dict(languages.most_common()),
        decontaminated=_decontaminated(parts, config),
        recall=decision.recall,
        leak=leak,
    )


def _leak(
    parts: Sequence[StagedPart], digests: Digests, decision: Decision, config: CollectConfig, look: RunOver
) -> Leak | None:
    with task("Looking for leaks"):
        return measure_leak(
            parts,
            digests,
            before=by_digest(digests, config.valid),
            stays=decision.stays,
            is_valid=decision.is_valid,
            run=look,
        )


def _decontaminated(parts: Sequence[StagedPart], config: CollectConfig) -> Decontaminated | None:
    """How much of the held-out items was in the documents, and is."""
    if config.rules is None or not config.rules.decontaminate:
        return None
    from unmask.corpus.rules.contamination import held_out_items

    items = held_out_items(config.rules.decontaminate, config.rules.items_digest)
    shared = {run for part in parts for run in part.summary.shared}
    leaked = {run for part in parts for run in part.summary.leaked}
    return Decontaminated(
        items=len(items.items),
        too_short=items.too_short,
        removed=sum(part.summary.dropped["decontaminate"] for part in parts),
        touched=sum(part.summary.touched for part in parts),
        before=len(shared | leaked) / max(1, items.runs),
        after=len(shared) / max(1, items.runs),
    )


def _run_over(
    write: Callable[[Path], None], staged: Sequence[StagedPart], *, parts: dict[Path, Part], engine: Engine
) -> None:
    """Have something written beside staged parts, by whoever reads parts."""
    folders = {parts[part.folder].number: part.folder.absolute() for part in staged}
    work = partial(_write_beside, write=write, folders=folders)
    run_parts(work, [parts[part.folder] for part in staged], engine, lambda count, documents: None)


def _write_beside(part: Part, report: OnBytes, *, write: Callable[[Path], None], folders: dict[int, Path]) -> None:
    write(folders[part.number])


def _duplicates(decision: Decision, config: CollectConfig) -> dict[str, int]:
    """How many documents are left out for others."""
    near = int(decision.near.sum())
    exact = int((~decision.stays).sum()) - near
    return {"duplicate": exact} | ({"near_duplicate": near} if config.near_duplicates is not None else {})


def _check_losses(counts: dict[str, int], config: CollectConfig, parts: Sequence[StagedPart], out: Path) -> None:
    """Refuse a corpus of which too much could not be read; what that was is written beside it."""
    lost, total = counts["malformed"], counts["read"] + counts["malformed"]
    if lost <= max(FEW, config.max_losses * total):
        return
    quarantine = out.with_name(f"{out.name}.{QUARANTINE}")
    quarantine.unlink(missing_ok=True)
    join_quarantines(parts, quarantine)
    problem = next(filter(None, (part.problem for part in parts)), "")
    raise TooManyLosses(
        f"{lost:,} of {total:,} documents could not be read ({lost / total:.1%}), and --max-losses allows "
        f"{config.max_losses:.1%}: first {problem}; all are in {quarantine}; the same command with a higher one goes on"
    )


def _check_absent(out: Path) -> None:
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise Refused(f"{out}: is already there; remove it, or name another place")


def _kinds_passed_over(kinds: dict[str, str], files: Sequence[TextSource], inside: Counter[str]) -> dict[str, int]:
    """How many files of each kind were passed over: what one argument passes over, another may name."""
    counts = inside + Counter(kinds[name] for name in kinds.keys() - {source.name for source in files})
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _read_parts(
    parts: list[Part], config: CollectConfig, stage: Path, out: Path, engine: Engine, earlier: EarlierDocuments
) -> list[StagedPart]:
    """Every part read, in order; those that an interrupted run has read are not read again."""
    keys = {part.key(config.of_documents()) for part in parts}
    for entry in stage.iterdir():
        if entry.name not in keys:  # of other sources or settings, or half-written
            shutil.rmtree(entry, ignore_errors=True)
    work = partial(_read_part, config=config, folder=stage.absolute(), out=out)
    with task("Reading", total=sum(part.size for part in parts) / 1e6 or None) as step:
        step(0, note=f"{len(parts):,} parts")
        folders = run_parts(work, parts, engine, lambda count, documents: step(count / 1e6))
        staged: list[StagedPart] = []
        begin, read, lines = earlier.documents, earlier.read, 0
        for part, folder in zip(parts, folders, strict=True):
            lines = lines if part.sources[0].start else 0
            summary = PartSummary.of(folder)
            staged.append(StagedPart(folder, summary, begin, read, lines))
            begin, read, lines = begin + summary.kept, read + summary.read, lines + summary.lines
        step(0, note=f"{read - earlier.read:,} documents")
    return staged


def _read_part(part: Part, report: OnBytes, *, config: CollectConfig, folder: Path, out: Path) -> Path:
    return read_part(part, config, folder, out, report)


def _added(counters: Iterator[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter[str]())


def _sums(parts: Sequence[StagedPart]) -> dict[str, int]:
    """What happened to how many documents when they were read."""
    steps = _added(part.summary.steps for part in parts)
    counts = {name: sum(getattr(part.summary, name) for part in parts) for name in ("read", "malformed")}
    counts |= {step: steps[step] for step in ("empty", "short")}
    return counts | ({"dropped": steps["rule"]} if steps["rule"] else {})


def _decide(
    digests: Digests, config: CollectConfig, parts: Sequence[StagedPart], run: RunOver, earlier: Flags
) -> Decision:
    """Who is kept, and on which side: that of the first document of a family, so that nothing added behind flips it.

    The sides of earlier documents, which are the first ones and are all kept, are given.
    """
    twins, similarity, recall = first_of_each(digests), np.ones(len(digests)), None
    firsts = twins == np.arange(len(twins))
    near = np.zeros(len(digests), dtype=np.bool_)
    if config.near_duplicates is not None:
        with task("Near-duplicates") as step:
            found = find_near_duplicates(parts, digests, firsts, config.near_duplicates, run, len(earlier))
            twins, similarity, recall = found.twins[twins], found.similarity[twins], found.recall
            near = found.twins != np.arange(len(twins))
            near |= near[first_of_each(digests)]
            step(1, note=str(recall) if recall else "")
    stays = twins == np.arange(len(twins))
    leaders = np.full(len(digests), len(digests))
    np.minimum.at(leaders, twins, np.arange(len(digests)))
    is_valid = np.zeros(len(digests), dtype=np.bool_)
    choose_side = by_digest if len(earlier) else held_out
    is_valid[stays] = choose_side(digests[leaders[stays]], config.valid)
    is_valid[: len(earlier)] = earlier
    return Decision(twins, similarity, near, is_valid, recall)


def _sift(
    parts: Sequence[StagedPart], twins: KeptTwins, decision: Decision, folder: Path, schema: pa.Schema
) -> tuple[DocumentWriter, DocumentWriter]:
    """Every document where it belongs, in order: to train on, held out, or removed with the one that is kept."""
    stays = decision.stays
    with ExitStack() as stack:
        train, valid = (stack.enter_context(DocumentWriter(folder / split, schema)) for split in ("train", "valid"))
        removed = stack.enter_context(RemovedWriter(folder / REMOVED))
        step = stack.enter_context(task("Sifting", total=sum(part.summary.kept for part in parts)))
        for part in parts:
            gone = [part.removed()]
            row = part.begin
            for table in part.tables(schema.names):
                rows = slice(row, row + len(table))
                train.add(table.filter(pa.array(stays[rows] & ~decision.is_valid[rows])))
                valid.add(table.filter(pa.array(decision.is_valid[rows])))
                out = np.flatnonzero(~stays[rows])
                of = decision.twins[rows][out], decision.similarity[rows][out], decision.near[rows][out]
                gone.append(twins.removed(table.take(out), *of))
                row += len(table)
                step(len(table), note="documents")
            removed.add(pa.concat_tables(gone).sort_by("number"))
    return train, valid


def _nothing_left(
    files: Sequence[TextSource], counts: dict[str, int], config: CollectConfig, parts: Sequence[StagedPart]
) -> str:
    problem = next(filter(None, (part.problem for part in parts)), "")
    if not counts["read"] and not problem:
        others = f", nor in {len(files) - 1:,} others" if len(files) > 1 else ""
        return f"{files[0].name}: no text in it{others}: nothing, or nothing but blank lines"
    short = f"{counts['short']} shorter than {config.min_characters} characters"
    malformed = f"{counts['malformed']} malformed" + (f" (first {problem})" if problem else "")
    dropped = f", {counts['dropped']} dropped by rules" if "dropped" in counts else ""
    return (
        f"no document is left of {counts['read']} read from {len(files)} file{'s' * (len(files) != 1)}: "
        f"{malformed}, {counts['empty']} empty, {short}{dropped}"
    )
