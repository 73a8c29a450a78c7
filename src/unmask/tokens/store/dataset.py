"""The data directory: clean documents, their tokenizer, their tokens, and a manifest that knows every byte.

In: sources of raw text. Out: a directory that training reads, the same bytes for the same input and settings.

    manifest.json                        what was read and left out, the settings, the SHA-256 of every file
    README.md                            this directory, explained
    documents/{train,valid}/*.parquet    the clean text, and where each came from
    tokenizer/                           loads with AutoTokenizer
    train/ valid/                        shards; train/counts.npy says how often each id occurs; spans.entity.npy and
                                         its like where spans are marked
    quarantine.jsonl                     the lines that could not be read, if any
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from transformers import PreTrainedTokenizerFast

from unmask.corpus.collect import CollectConfig, Collected, collect
from unmask.errors import BadInput, Damaged, Refused
from unmask.files import whole_directory
from unmask.progress import task
from unmask.records import SPAN_KINDS, Integers, Vocabulary
from unmask.results import Prepared
from unmask.tokens.encode_split import Finders, batches, encode_split
from unmask.tokens.spans.spans import Finder, Spans, gazetteer_file, spacy_finders
from unmask.tokens.store import languages
from unmask.tokens.store import manifest as manifests
from unmask.tokens.store.manifest import verify
from unmask.tokens.store.readme import readme
from unmask.tokens.store.shards import SHARD_TOKENS, Shards, write_array
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer, vocabulary_of
from unmask.tokens.tokenizer.segments import Segmenter, named_segmenter
from unmask.tokens.tokenizer.sentinels import add_sentinels, sentinel_vocabulary
from unmask.tokens.tokenizer.train import KINDS, SAMPLE, train_tokenizer

__all__ = ["Dataset", "Settings", "prepare", "verify"]

SPLITS = ("train", "valid")
PLACES = 8  # that a sample of documents is taken from
MARKING = ("entities", "phrases", "spacy", "segmenter", "languages")  # settings told of only when they are given


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How raw text becomes a data directory."""

    field: str = "text"
    min_characters: int = 20
    valid: float = 0.01
    tokenizer: str = "wordpiece"  # a kind to train, or a directory to take as it is
    vocab_size: int | None = None  # of a trained tokenizer; none is 16,384, or what the text allows
    cased: bool = True  # of a trained tokenizer
    shard_tokens: int = SHARD_TOKENS
    entities: str | None = None  # a gazetteer of entities to mark, a phrase a line
    phrases: str | None = None  # the same for phrases
    spacy: str | None = None  # a spaCy pipeline that marks entities, and noun chunks as phrases
    segmenter: str | None = None  # module:function, from a text to its words; none: the tokenizer's own words
    languages: str | None = None  # what a document's language is the name of, its file or its folder; none: unknown

    def __post_init__(self) -> None:
        for name in ("vocab_size", "shard_tokens"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise BadInput(f"{name} is {value}: give 1 or more")


@dataclass(frozen=True)
class Dataset:
    """A data directory, open for reading."""

    path: Path
    manifest: dict[str, Any]
    sentinels: int = 0  # that its tokenizer has at the least: tokens that stand for hidden spans

    @classmethod
    def open(cls, path: Path | str) -> Dataset:
        """Open a data directory: its manifest whole, its files there and of the right size."""
        path = Path(path)
        manifest = manifests.read(path)
        manifests.check_sizes(path, manifest)
        return cls(path, manifest)

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 of what training sees: the tokens and the tokenizer."""
        return manifests.fingerprint(self.manifest)

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """The tokenizer the documents were encoded with, and sentinels if they are asked for."""
        tokenizer = load_tokenizer(self.path / "tokenizer")
        if self.sentinels:
            add_sentinels(tokenizer, self.sentinels)
        return tokenizer

    def tokenizer_kind(self) -> str:
        """Wordpiece, bpe, unigram or another algorithm."""
        return type(self.tokenizer().backend_tokenizer.model).__name__.lower()

    def with_sentinels(self, count: int) -> Dataset:
        """The same data, its tokenizer with so many sentinels: the documents never have them."""
        return self if self.sentinels >= count else replace(self, sentinels=count)

    def write_tokenizer(self, folder: Path) -> None:
        """Put the tokenizer's files in a folder."""
        if self.sentinels:
            save_tokenizer(self.tokenizer(), folder)
            return
        for file in (self.path / "tokenizer").iterdir():
            shutil.copy(file, folder / file.name)

    def segmenter(self) -> Segmenter | None:
        """What cut the text into words, if not the tokenizer."""
        name = self.manifest["settings"].get("segmenter")
        return None if name is None else named_segmenter(name)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The size and the special ids of the tokenizer, and how often the training text has each id."""
        known = (sentinel_vocabulary if self.sentinels else vocabulary_of)(self.tokenizer())
        return replace(known, counts=np.pad(self.counts, (0, known.size - len(self.counts))))

    def split(self, name: str) -> Shards:
        """The tokens of a split, `train` or `valid`."""
        return Shards(self.path / _known(name))

    def texts(self, name: str) -> Iterator[str]:
        """The documents of a split, in the order of its tokens."""
        return (text for texts, _ in batches(self.path / "documents" / _known(name)) for text in texts)

    @cached_property
    def tokens_per_byte(self) -> float:
        """Of the held-out text: with it, what a token costs becomes what a byte costs, whatever the tokenizer."""
        return self.split("valid").tokens / max(1, sum(len(text.encode()) for text in self.texts("valid")))

    def spans(self, name: str) -> dict[str, Spans]:
        """The marked spans of a split, by kind; none where nobody marked any."""
        files = {kind: f"{_known(name)}/spans.{kind}.npy" for kind in SPAN_KINDS}
        return {kind: Spans.open(self.path / file) for kind, file in files.items() if file in self.manifest["files"]}

    def languages(self, name: str) -> Integers:
        """The language of each document of a split, as a place in the manifest's list of them."""
        return languages.read(self.path, self.manifest, _known(name))

    def sample(self, name: str, characters: int) -> list[str]:
        """About so many characters of whole documents, from places all over a split: the same each time."""
        return list(_sample(self.path / "documents" / _known(name), characters))

    @cached_property
    def counts(self) -> Integers:
        """V counts: how often each id occurs in the training tokens."""
        try:
            return np.load(self.path / "train" / "counts.npy", allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise Damaged(f"{self.path / 'train' / 'counts.npy'}: cannot be read: {error}") from error


def prepare(sources: Sequence[str], out: Path, *, overwrite: bool = False, **settings: Any) -> Prepared:
    """Make a data directory of raw text; `out` is there when all of it is done, and not before.

    The settings are the fields of `Settings`.
    """
    began = perf_counter()
    chosen = Settings(**settings)
    config = CollectConfig(field=chosen.field, min_characters=chosen.min_characters, valid=chosen.valid)
    languages.check(chosen.languages)
    given, finders = _given_tokenizer(chosen), _finders(chosen)
    if chosen.segmenter is not None:
        named_segmenter(chosen.segmenter)
    target = out.resolve()
    _check_free(out, overwrite)
    with whole_directory(target) as folder:
        collected = collect(sources, folder / "documents", config=config)
        if (quarantine := folder / "documents" / "quarantine.jsonl").exists():
            quarantine.rename(folder / "quarantine.jsonl")
        tokenizer = given or _trained(folder / "documents" / "train", chosen)
        save_tokenizer(tokenizer, folder / "tokenizer")
        finders = {kind: finders.get(kind, []) for kind in SPAN_KINDS if kind in {*finders, *collected.kinds}}
        tokens, spans = _encode(folder, load_tokenizer(folder / "tokenizer"), collected, chosen, finders)
        facts = _facts(chosen, collected, vocabulary_of(tokenizer).size, tokens, spans)
        if chosen.languages is not None:
            splits = [folder / split for split in SPLITS]
            facts["languages"] = languages.write(folder / "documents", splits, chosen.languages)
        (folder / "README.md").write_text(readme(facts), encoding="utf-8")
        manifest = manifests.write(folder, facts)
    return Prepared(
        path=out,
        files=collected.files,
        bytes_read=collected.bytes_read,
        counts=collected.counts,
        tokenizer=chosen.tokenizer,
        vocabulary=facts["vocabulary"],
        tokens=tokens,
        spans=spans,
        fingerprint=manifests.fingerprint(manifest),
        seconds=perf_counter() - began,
    )


def _check_free(out: Path, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: is a file; name a directory to write")
    if not out.exists() or not any(out.iterdir()):
        return
    if not overwrite:
        raise Refused(f"{out}: is not empty; name another directory, or overwrite it with --overwrite")
    if not (out / manifests.NAME).is_file():
        raise Refused(f"{out}: holds something other than a data directory, which is never overwritten")


def _given_tokenizer(settings: Settings) -> PreTrainedTokenizerFast | None:
    """The tokenizer that is taken as it is, if one is: looked at before the text is read."""
    if settings.tokenizer in KINDS:
        return None
    if not Path(settings.tokenizer).is_dir():
        kinds = ", ".join(KINDS)
        raise BadInput(f"tokenizer {settings.tokenizer!r}: neither a directory nor one of the kinds {kinds}")
    tokenizer = load_tokenizer(settings.tokenizer)
    vocabulary_of(tokenizer)
    return tokenizer


def _trained(documents: Path, settings: Settings) -> PreTrainedTokenizerFast:
    with task("Tokenizer") as step:

        def texts() -> Iterator[str]:
            if settings.languages is not None:
                yield from languages.balanced(documents, settings.languages, SAMPLE)
                return
            for batch, _ in batches(documents):
                step(len(batch), note=settings.tokenizer)
                yield from batch

        return train_tokenizer(texts(), settings.tokenizer, settings.vocab_size, settings.cased)


def _finders(settings: Settings) -> dict[str, list[Finder]]:
    """What marks spans, by kind: looked at before the text is read."""
    finders: dict[str, list[Finder]] = {}
    for kind, path in (("entity", settings.entities), ("phrase", settings.phrases)):
        if path is not None:
            finders[kind] = [gazetteer_file(path)]
    if settings.spacy is not None:
        for kind, finder in spacy_finders(settings.spacy).items():
            finders.setdefault(kind, []).append(finder)
    return finders


def _encode(
    folder: Path, tokenizer: PreTrainedTokenizerFast, collected: Collected, settings: Settings, finders: Finders
) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Write both splits; how many tokens each has, and how many spans of each kind, if any are marked."""
    tokens, spans = {}, {}
    with task("Encoding", total=sum(collected.counts[split] for split in SPLITS)) as step:
        for split in SPLITS:
            shards, spans[split] = encode_split(
                folder / "documents" / split,
                folder / split,
                tokenizer,
                shard_tokens=settings.shard_tokens,
                finders=finders,
                segmenter=named_segmenter(settings.segmenter) if settings.segmenter else None,
                step=step,
            )
            tokens[split] = shards.tokens
            if split == "train":
                write_array(folder / split / "counts.npy", shards.counts)
    return tokens, spans if finders else {}


def _sample(documents: Path, characters: int) -> Iterator[str]:
    """The beginnings of up to eight row groups, evenly spaced: nothing else of the corpus is read."""
    files = [pq.ParquetFile(path) for path in sorted(documents.glob("*.parquet"))]
    groups = [(file, group) for file in files for group in range(file.num_row_groups)]
    chosen = groups[:: -(-len(groups) // PLACES) or 1]
    for file, group in chosen:
        left = characters // len(chosen)
        for text in file.read_row_group(group, columns=["text"]).column("text"):
            if left <= 0:
                break
            left -= len(text.as_py())
            yield text.as_py()
    for file in files:
        file.close()


def _known(split: str) -> str:
    if split not in SPLITS:
        raise BadInput(f"split {split!r}: there are {' and '.join(SPLITS)}")
    return split


def _facts(
    settings: Settings,
    collected: Collected,
    vocabulary: int,
    tokens: dict[str, int],
    spans: dict[str, dict[str, int]],
) -> dict[str, Any]:
    chosen = {name: value for name, value in asdict(settings).items() if name not in MARKING or value is not None}
    return {
        "unmask": version("unmask"),
        "settings": chosen,
        "input": {
            "files": collected.files,
            "bytes": collected.bytes_read,
            "fingerprint": collected.fingerprint,
        },
        "counts": collected.counts,
        "vocabulary": vocabulary,
        "tokens": tokens,
        **({"spans": spans} if spans else {}),
    }
