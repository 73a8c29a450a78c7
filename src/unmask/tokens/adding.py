"""Files added to a data directory: only what is new is read, cleaned, compared and encoded.

In: a data directory and sources, of which some were read for it. Out: the directory with the new documents behind the
others. The settings, the learnt rules and the tokenizer are those it was prepared with; every earlier document stays,
on the side of the split it is on, and is the one that is kept where a new one says the same. Its files are linked, not
written again, and the new directory has its name when all of it is done.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from unmask.corpus.collect import CollectedCorpus, collect_corpus
from unmask.corpus.earlier import EarlierDocuments
from unmask.corpus.engines.engine import Engine
from unmask.corpus.read.find import estimate_text_bytes, find_sources
from unmask.corpus.rules.request import RuleRequest
from unmask.corpus.rules.settings import RuleSettings
from unmask.corpus.staged import staging, staging_place
from unmask.errors import BadInput, Refused
from unmask.files import SEAL, check_writable, whole_directory
from unmask.records import SPAN_KINDS
from unmask.results import Prepared
from unmask.tokens.data_report import write_data_report
from unmask.tokens.prepare import PrepareSettings, collect_config, encode_documents, prepared, span_finders
from unmask.tokens.store.dataset import SPLITS, Dataset
from unmask.tokens.store.languages import write_languages
from unmask.tokens.store.manifest import MANIFEST, write_manifest
from unmask.tokens.store.mixture import check_mix, write_mix
from unmask.tokens.store.readme import data_readme
from unmask.tokens.store.shards import Growing, write_array
from unmask.tokens.store.sources import SOURCES, read_sources_file, source_states, write_sources_file
from unmask.tokens.tokenizer.load import load_tokenizer, vocabulary_of

OWN = ("kind", "format", "files", SEAL)  # of a manifest, what is written anew
ADDED = "added"  # where new documents and tokens are until they stand behind the others
REWRITTEN = ("README.md", "report.html", "languages.npy", "mix.npy", "mix_weights.npy", MANIFEST, SOURCES)
SUMMED = ("counts", "dropped", "changed", "languages_told", "tokens", "text_bytes")


def add_files(
    sources: Sequence[str],
    data: Path,
    *,
    engine: Engine | None = None,
    asked_rules: RuleRequest | None = None,
    **given: Any,
) -> Prepared:
    """Add what is new among the sources; `given` are settings that were asked for, which must be those of the data."""
    start = perf_counter()
    dataset = Dataset.open(data)
    settings = settings_of(dataset.manifest)
    _check_settings(settings, given, data)
    if asked_rules not in (None, RuleRequest()):
        raise Refused(f"rules are asked for, and those of {data} stay with --add: leave their options out")
    known = read_sources_file(data)
    found = find_sources(sources)
    _check_unchanged(source_states(found), known, data)
    new = [source for source in found if source.name not in known]
    if not new:
        raise BadInput(f"{data}: all of these files were read for it, and none has changed; there is nothing to add")
    if mix := dataset.manifest.get("mix"):
        check_mix(mix, [source.name for source in new])
    check_writable(data, beside=True, needed=estimate_text_bytes(new))
    earlier = EarlierDocuments(data.resolve() / "documents", dataset.manifest["counts"]["read"], frozenset(known))
    target = data.resolve()
    with staging(staging_place(target)) as stage, whole_directory(target) as folder:
        _link_files(target, folder)
        corpus = collect_corpus(
            sources,
            folder / ADDED / "documents",
            config=collect_config(settings),
            engine=engine,
            stage=stage,
            known_as=data,
            earlier=earlier,
        )
        facts = _merge(dataset, folder, corpus, settings)
        if settings.languages is not None:
            facts["languages"] = write_languages(
                folder / "documents", [folder / split for split in SPLITS], settings.languages
            )
        if mix:
            write_mix(folder / "documents" / "train", folder / "train", mix)
        shutil.rmtree(folder / ADDED)
        tokenizer = load_tokenizer(folder / "tokenizer")
        write_data_report(folder, facts, vocabulary_of(tokenizer), tokenizer.unk_token_id, ())
        (folder / "README.md").write_text(data_readme(facts), encoding="utf-8")
        write_sources_file(folder, {**known, **source_states(new)})
        manifest = write_manifest(folder, facts)
    before = {split: dataset.manifest["counts"][split] for split in SPLITS}
    return prepared(data, settings, corpus, facts, manifest, earlier=before, seconds=perf_counter() - start)


def settings_of(manifest: Mapping[str, Any]) -> PrepareSettings:
    """The settings that a data directory was prepared with."""
    names = {field.name for field in fields(PrepareSettings)}
    settings = {name: value for name, value in manifest["settings"].items() if name in names}
    if rules := settings.get("rules"):
        limits = {name: tuple(limit) for name, limit in rules["limits"].items()}
        lists = {name: tuple(value) for name, value in rules.items() if isinstance(value, list)}
        settings["rules"] = RuleSettings(**{**rules, **lists, "limits": limits})
    return PrepareSettings(**settings)


def _check_settings(settings: PrepareSettings, given: Mapping[str, Any], data: Path) -> None:
    """Refuse what would make the new documents others than the earlier ones."""
    defaults = PrepareSettings()
    for name, value in given.items():
        if value not in (getattr(defaults, name), getattr(settings, name)):
            option = f"--{name.replace('_', '-')}"
            raise Refused(
                f"{option} {value}: {data} was prepared with {getattr(settings, name)}, and --add keeps to its "
                f"settings; leave {option} out, or prepare all of it anew"
            )


def _check_unchanged(states: Mapping[str, list[Any]], known: Mapping[str, list[Any]], data: Path) -> None:
    for name, state in states.items():
        if name in known and known[name] != state:
            raise Refused(
                f"{name}: has changed since it was read for {data}; put what is new into a file of its own, or prepare "
                "all of it anew with --overwrite"
            )


def _link_files(data: Path, folder: Path) -> None:
    """What stays as it is: documents, shards, the tokenizer. Linked, or copied where a disk has no links."""
    for path in sorted(path for path in data.rglob("*") if path.is_file() and path.name not in REWRITTEN):
        place = folder / path.relative_to(data)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, place)
        except OSError:
            shutil.copy2(path, place)


def _merge(dataset: Dataset, folder: Path, corpus: CollectedCorpus, settings: PrepareSettings) -> dict[str, Any]:
    """The new documents behind the others, and their tokens; the facts of all of them."""
    added = folder / ADDED
    finders = span_finders(settings)
    old_kinds = {*dataset.manifest.get("spans", {}).get("train", {})}
    finders = {kind: finders.get(kind, []) for kind in SPAN_KINDS if kind in {*finders, *corpus.kinds, *old_kinds}}
    if finders.keys() - old_kinds:
        raise Refused(
            f"{dataset.path}: marks no {' or '.join(sorted(finders.keys() - old_kinds))} spans, and the new files do; "
            "prepare all of it anew"
        )
    for name in ("quarantine.jsonl", "removed.parquet"):
        _join(folder / name, added / "documents" / name)
    tokens, spans = encode_documents(added, load_tokenizer(folder / "tokenizer"), corpus, settings, finders)
    for split in SPLITS:
        for kind in finders:
            _join_spans(folder / split / f"spans.{kind}.npy", added / split, dataset.manifest["tokens"][split])
        _number_on(added / split, folder / split, (".tokens.npy", ".words.npy", ".ends.npy"))
        _number_on(added / "documents" / split, folder / "documents" / split, (".parquet",))
    counts = dataset.counts + np.load(added / "train" / "counts.npy", allow_pickle=False)
    (folder / "train" / "counts.npy").unlink()
    write_array(folder / "train" / "counts.npy", counts)
    facts = {name: value for name, value in dataset.manifest.items() if name not in OWN}
    facts["input"] = _sum_input(facts["input"], corpus)
    news = {**vars(corpus), "tokens": tokens, "languages_told": corpus.languages}
    for name in SUMMED:
        if news[name]:
            facts[name] = _summed_counts(facts.get(name, {}), news[name])
    if spans:
        facts["spans"] = {split: _summed_counts(facts["spans"][split], spans[split]) for split in SPLITS}
    if corpus.leak:
        facts["leak"] = asdict(corpus.leak)
    if corpus.decontaminated:
        facts["decontaminated"] = _sum_decontaminated(facts["decontaminated"], asdict(corpus.decontaminated))
    return facts


def _summed_counts(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _sum_input(facts: Mapping[str, Any], corpus: CollectedCorpus) -> dict[str, Any]:
    encodings = _summed_counts(facts.get("encodings", {}), corpus.encodings)
    return {
        **facts,
        "files": facts["files"] + corpus.files,
        "bytes": facts["bytes"] + corpus.bytes_read,
        "fingerprint": corpus.fingerprint,
        "pages_without_text": facts["pages_without_text"] + corpus.pages_without_text,
        "passed_over": _summed_counts(facts["passed_over"], corpus.passed_over),
        **({"encodings": encodings} if encodings else {}),
    }


def _sum_decontaminated(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Of items in two sets of documents: which runs of words each has is not kept, so the larger share is the least."""
    summed = {name: one[name] + other[name] for name in ("removed", "touched")}
    return {**one, **summed, **{name: max(one[name], other[name]) for name in ("before", "after")}}


def _join(before: Path, behind: Path) -> None:
    """A file with another one behind it, in place of the one it was, which may be linked elsewhere."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not behind.exists():
        return
    if not before.exists():
        behind.rename(before)
        return
    if before.suffix == ".parquet":
        joined = behind.with_name("joined.parquet")
        with pq.ParquetWriter(joined, pq.read_schema(before), compression="zstd") as writer:
            for path in (before, behind):
                with pq.ParquetFile(path) as file:
                    for group in range(file.num_row_groups):
                        writer.write_table(pa.table(file.read_row_group(group)))
    else:
        joined = behind.with_name("joined.jsonl")
        with joined.open("wb") as file:
            for path in (before, behind):
                with path.open("rb") as content:
                    shutil.copyfileobj(content, file)
    behind.unlink()
    joined.replace(before)


def _join_spans(before: Path, added: Path, tokens: int) -> None:
    stretches = np.concatenate(
        (np.load(before, allow_pickle=False), np.load(added / before.name, allow_pickle=False) + tokens)
    )
    before.unlink()
    with before.open("wb") as handle:
        file = Growing(handle, np.int64, row=(2,))
        file.append(stretches)
        file.finish()
    (added / before.name).unlink()


def _number_on(added: Path, folder: Path, suffixes: tuple[str, ...]) -> None:
    """Numbered files behind those that are there."""
    for suffix in suffixes:
        first = len(list(folder.glob(f"*{suffix}")))
        for number, path in enumerate(sorted(added.glob(f"*{suffix}")), start=first):
            path.rename(folder / f"{number:05}{suffix}")
