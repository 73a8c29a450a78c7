"""Raw text to a data directory: documents collected, a tokenizer trained, tokens written, a manifest over all of it.

In: sources of raw text. Out: a directory that `unmask.tokens.store.dataset` reads, the same bytes for the same input
and settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from transformers import PreTrainedTokenizerFast

from unmask.corpus.collect import CollectedCorpus, collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.corpus.read.find import WHOLE, check_html, estimate_text_bytes, find_sources
from unmask.corpus.rules.request import RuleRequest
from unmask.corpus.rules.settings import RuleSettings
from unmask.corpus.settings import CollectConfig
from unmask.corpus.staged import staging, staging_place
from unmask.errors import BadInput, Refused
from unmask.files import check_writable, whole_directory
from unmask.progress import task
from unmask.records import SPAN_KINDS
from unmask.results import Prepared
from unmask.tokens.advice import held_out_warning, next_commands
from unmask.tokens.data_report import write_data_report
from unmask.tokens.encode_split import Finders, encode_split
from unmask.tokens.spans.find import Finder, gazetteer_file, spacy_finders
from unmask.tokens.store.dataset import SPLITS
from unmask.tokens.store.documents import read_documents
from unmask.tokens.store.languages import balanced_texts, check_languages, write_languages
from unmask.tokens.store.manifest import MANIFEST, fingerprint_of, write_manifest
from unmask.tokens.store.mixture import check_mix, parse_mix, write_mix
from unmask.tokens.store.readme import data_readme
from unmask.tokens.store.shards import SHARD_TOKENS, write_array
from unmask.tokens.store.sources import source_states, write_sources_file
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer, tokenizer_place, vocabulary_of
from unmask.tokens.tokenizer.segments import named_segmenter
from unmask.tokens.tokenizer.train import KINDS, SAMPLE, train_tokenizer

PAGES = {"html", "warc", "tar"}  # formats that may hold HTML
OPTIONAL = (
    "entities",
    "phrases",
    "spacy",
    "segmenter",
    "languages",
    "html",
    "leaks",
    "rules",
    "near_duplicates",
)  # in the manifest only where they are set


@dataclass(frozen=True, kw_only=True)
class PrepareSettings:
    """How raw text becomes a data directory."""

    field: str = "text"
    encoding: str = "utf-8"  # of what is not UTF-8
    min_characters: int = 20
    valid: float = 0.01
    max_losses: float = 0.01  # the share of documents that may be unreadable
    near_duplicates: float | None = None  # the similarity from which on a document is left out; none: only equal ones
    tokenizer: str = "wordpiece"  # a kind to train, or a directory to take as it is
    vocab_size: int | None = None  # of a trained tokenizer; none is 16,384, or what the text allows
    cased: bool = True  # of a trained tokenizer
    shard_tokens: int = SHARD_TOKENS
    entities: str | None = None  # a gazetteer of entities to mark, a phrase a line
    phrases: str | None = None  # the same for phrases
    spacy: str | None = None  # a spaCy pipeline that marks entities, and noun chunks as phrases
    segmenter: str | None = None  # module:function, from a text to its words; none: the tokenizer's own words
    leaks: bool | None = None  # whether leaks of held-out text into the training text are measured; none: they are not
    html: str | None = None  # what is read of HTML pages: whole (none) or main
    languages: str | None = None  # what a document's language is the name of, its file or its folder; none: unknown
    mix: str | None = None  # sources with their weights, wiki=2,law=1; none: as the text has them
    rules: RuleSettings | None = None  # what changes texts or leaves them out; none: the repair of Unicode alone

    def __post_init__(self) -> None:
        for name in ("vocab_size", "shard_tokens"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise BadInput(f"{name} is {value}: give 1 or more")


def prepare(
    sources: Sequence[str],
    out: Path,
    *,
    overwrite: bool = False,
    engine: Engine | None = None,
    asked_rules: RuleRequest | None = None,
    **fields: Any,
) -> Prepared:
    """Make a data directory of raw text; `out` is there when all of it is done, and not before.

    The settings are the fields of `PrepareSettings`; rules may be asked for in a user's words. The engine reads the
    sources, and changes no byte of the result.
    """
    start = perf_counter()
    settings = PrepareSettings(**fields)
    check_languages(settings.languages)
    check_html(settings.html or WHOLE)
    foreign, finders = _foreign_tokenizer(settings), span_finders(settings)
    if settings.segmenter is not None:
        named_segmenter(settings.segmenter)
    target = out.resolve()
    found = find_sources(sources)
    mix = parse_mix(settings.mix) if settings.mix else {}
    if mix:
        check_mix(mix, [source.name for source in found])
    _check_free(out, overwrite)
    # With what is written on the way, a data directory takes about the bytes of its text: 0.98 for English.
    check_writable(out, beside=True, needed=estimate_text_bytes(found))
    if asked_rules is not None:
        chosen = asked_rules.settings(sources, settings.field, settings.encoding, settings.html or WHOLE)
        settings = replace(settings, rules=None if chosen == RuleSettings() else chosen)
    with staging(staging_place(target)) as stage, whole_directory(target) as folder:
        corpus = collect_corpus(
            sources, folder / "documents", config=collect_config(settings), engine=engine, stage=stage, known_as=out
        )
        for name in ("quarantine.jsonl", "removed.parquet"):
            if (folder / "documents" / name).exists():
                (folder / "documents" / name).rename(folder / name)
        tokenizer = foreign or _trained_tokenizer(folder / "documents" / "train", settings)
        save_tokenizer(tokenizer, folder / "tokenizer")
        finders = {kind: finders.get(kind, []) for kind in SPAN_KINDS if kind in {*finders, *corpus.kinds}}
        tokens, spans = encode_documents(folder, load_tokenizer(folder / "tokenizer"), corpus, settings, finders)
        facts = _manifest_facts(settings, corpus, vocabulary_of(tokenizer).size, tokens, spans)
        if settings.languages is not None:
            splits = [folder / split for split in SPLITS]
            facts["languages"] = write_languages(folder / "documents", splits, settings.languages)
        if mix:
            write_mix(folder / "documents" / "train", folder / "train", mix)
            facts["mix"] = mix
        warning = held_out_warning(corpus.counts["train"], corpus.counts["valid"])
        warnings = (warning,) if warning else ()
        write_data_report(folder, facts, vocabulary_of(tokenizer), tokenizer.unk_token_id, warnings)
        (folder / "README.md").write_text(data_readme(facts), encoding="utf-8")
        write_sources_file(folder, source_states(found))
        manifest = write_manifest(folder, facts)
    return prepared(out, settings, corpus, facts, manifest, warnings=warnings, seconds=perf_counter() - start)


def prepared(
    path: Path,
    settings: PrepareSettings,
    corpus: CollectedCorpus,
    facts: Mapping[str, Any],
    manifest: dict[str, Any],
    **more: Any,
) -> Prepared:
    """What is said of a data directory: what was read of its files now, and what its manifest says is in it."""
    return Prepared(
        path=path,
        files=corpus.files,
        bytes_read=corpus.bytes_read,
        counts=corpus.counts,
        tokenizer=settings.tokenizer,
        vocabulary=facts["vocabulary"],
        tokens=facts["tokens"],
        spans=facts.get("spans", {}),
        pages_without_text=corpus.pages_without_text,
        formats=corpus.formats,
        encodings=corpus.encodings,
        languages=tuple(facts.get("languages", ())),
        passed_over=corpus.passed_over,
        dropped=corpus.dropped,
        changed=corpus.changed,
        languages_told=corpus.languages,
        decontaminated=corpus.decontaminated,
        near_duplicates=str(corpus.recall) if corpus.recall else None,
        leak=leak_text(corpus),
        next=next_commands(path, None if settings.tokenizer in KINDS else Path(settings.tokenizer)),
        fingerprint=fingerprint_of(manifest),
        **more,
    )


def collect_config(settings: PrepareSettings) -> CollectConfig:
    """What the settings say of documents."""
    return CollectConfig(
        field=settings.field,
        min_characters=settings.min_characters,
        valid=settings.valid,
        encoding=settings.encoding,
        html=settings.html or WHOLE,
        leaks=bool(settings.leaks),
        rules=settings.rules or RuleSettings(),
        near_duplicates=settings.near_duplicates,
        max_losses=settings.max_losses,
    )


def leak_text(corpus: CollectedCorpus) -> str | None:
    """How much of the held-out text is in the training text, in words, where it was measured."""
    if (leak := corpus.leak) is None:
        return None
    return (
        f"{leak.after:.2%} of the runs of 8 words of {leak.documents:,} held-out documents stand in the training text, "
        f"{leak.before:.2%} before duplicates were left out"
    )


def _check_free(out: Path, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: is a file; name a directory to write")
    if not out.exists() or not any(out.iterdir()):
        return
    if not overwrite:
        raise Refused(
            f"{out}: is not empty; name another directory, add new files with --add, or overwrite it with --overwrite"
        )
    if not (out / MANIFEST).is_file():
        raise Refused(f"{out}: holds something other than a data directory, which is never overwritten")


def _foreign_tokenizer(settings: PrepareSettings) -> PreTrainedTokenizerFast | None:
    """The tokenizer that is taken as it is, if one is: looked at before the text is read."""
    if settings.tokenizer in KINDS:
        return None
    if not Path(settings.tokenizer).is_dir():
        kinds = ", ".join(KINDS)
        raise BadInput(f"tokenizer {settings.tokenizer!r}: neither a directory nor one of the kinds {kinds}")
    tokenizer = load_tokenizer(tokenizer_place(Path(settings.tokenizer)))
    vocabulary_of(tokenizer)
    return tokenizer


def _trained_tokenizer(documents: Path, settings: PrepareSettings) -> PreTrainedTokenizerFast:
    with task("Tokenizer") as step:

        def texts() -> Iterator[str]:
            if settings.languages is not None:
                yield from balanced_texts(documents, settings.languages, SAMPLE)
                return
            for batch, _ in read_documents(documents):
                step(len(batch), note=settings.tokenizer)
                yield from batch

        return train_tokenizer(texts(), settings.tokenizer, settings.vocab_size, settings.cased)


def span_finders(settings: PrepareSettings) -> dict[str, list[Finder]]:
    """What marks spans, by kind: looked at before the text is read."""
    finders: dict[str, list[Finder]] = {}
    for kind, path in (("entity", settings.entities), ("phrase", settings.phrases)):
        if path is not None:
            finders[kind] = [gazetteer_file(path)]
    if settings.spacy is not None:
        for kind, finder in spacy_finders(settings.spacy).items():
            finders.setdefault(kind, []).append(finder)
    return finders


def encode_documents(
    folder: Path,
    tokenizer: PreTrainedTokenizerFast,
    corpus: CollectedCorpus,
    settings: PrepareSettings,
    finders: Finders,
) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Write both splits; how many tokens each has, and how many spans of each kind, if any are marked."""
    tokens: dict[str, int] = {}
    spans = {}
    with task("Encoding", total=sum(corpus.counts[split] for split in SPLITS)) as step:
        for split in SPLITS:
            shards, spans[split] = encode_split(
                folder / "documents" / split,
                folder / split,
                tokenizer,
                shard_tokens=settings.shard_tokens,
                finders=finders,
                segmenter=named_segmenter(settings.segmenter) if settings.segmenter else None,
                step=step,
                before=sum(tokens.values()),
            )
            tokens[split] = shards.tokens
            if split == "train":
                write_array(folder / split / "counts.npy", shards.counts)
    return tokens, spans if finders else {}


def _manifest_facts(
    settings: PrepareSettings,
    corpus: CollectedCorpus,
    vocabulary: int,
    tokens: dict[str, int],
    spans: dict[str, dict[str, int]],
) -> dict[str, Any]:
    fields = {name: value for name, value in asdict(settings).items() if name not in OPTIONAL or value is not None}
    return {
        "unmask": version("unmask"),
        "settings": fields,
        "input": {
            "files": corpus.files,
            "bytes": corpus.bytes_read,
            "fingerprint": corpus.fingerprint,
            "pages_without_text": corpus.pages_without_text,
            "passed_over": corpus.passed_over,
            **({"html": settings.html or WHOLE} if PAGES & corpus.formats.keys() else {}),
            **({"encodings": corpus.encodings} if corpus.encodings else {}),
        },
        "counts": corpus.counts,
        **{name: value for name in ("dropped", "changed") if (value := getattr(corpus, name))},
        **({"languages_told": corpus.languages} if corpus.languages else {}),
        **({"decontaminated": asdict(corpus.decontaminated)} if corpus.decontaminated else {}),
        "vocabulary": vocabulary,
        "tokens": tokens,
        "text_bytes": corpus.text_bytes,
        **({"near_duplicate_recall": vars(corpus.recall)} if corpus.recall else {}),
        **({"leak": asdict(corpus.leak)} if corpus.leak else {}),
        **({"spans": spans} if spans else {}),
    }
