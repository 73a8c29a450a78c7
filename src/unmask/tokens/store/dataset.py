"""The data directory: clean documents, their tokenizer, their tokens, and a manifest that knows every byte.

In: a directory that `unmask.tokens.prepare` made. Out: what training and evaluation ask of it. Opening one reads the
manifest and loads no engine: the tokenizer and the text are read when they are asked for.

    manifest.json                        what was read and left out, the settings, the SHA-256 of every file
    README.md                            this directory, explained
    documents/{train,valid}/*.parquet    the clean text, and where each came from
    tokenizer/                           loads with AutoTokenizer
    train/ valid/                        shards; train/counts.npy says how often each id occurs; spans.entity.npy and
                                         its like where spans are marked
    sources.json                         the files it was made of, with their sizes and dates
    quarantine.jsonl                     the lines that could not be read, if any
    collocations.txt entities.txt        what was mined of the text later, for a person to edit; not in the manifest
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask.errors import BadInput, Damaged
from unmask.records import SPAN_KINDS, Integers, Reals, Vocabulary
from unmask.tokens.spans.marked import Spans
from unmask.tokens.store.documents import read_documents, sample_documents
from unmask.tokens.store.languages import read_languages
from unmask.tokens.store.manifest import check_sizes, fingerprint_of, read_manifest
from unmask.tokens.store.mixture import read_groups, read_mix
from unmask.tokens.store.shards import Shards

if TYPE_CHECKING:  # a process that reads tokens needs no tokenizer, which loads transformers
    from transformers import PreTrainedTokenizerFast

    from unmask.tokens.tokenizer.segments import Segmenter

SPLITS = ("train", "valid")


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
        manifest = read_manifest(path)
        check_sizes(path, manifest)
        return cls(path, manifest)

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 of what training sees: the tokens and the tokenizer."""
        return fingerprint_of(self.manifest)

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """The tokenizer the documents were encoded with, and sentinels if they are asked for."""
        from unmask.tokens.tokenizer.load import load_tokenizer
        from unmask.tokens.tokenizer.sentinels import add_sentinels

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

    def write_tokenizer(self, folder: Path, length: int) -> None:
        """Put the tokenizer's files in a folder, for a model that takes rows of `length` tokens."""
        from unmask.tokens.tokenizer.load import save_tokenizer

        tokenizer = self.tokenizer()
        tokenizer.model_max_length = length  # where stock transformers cuts with truncation=True
        save_tokenizer(tokenizer, folder)

    def segmenter(self) -> Segmenter | None:
        """What cut the text into words, if not the tokenizer."""
        from unmask.tokens.tokenizer.segments import named_segmenter

        name = self.manifest["settings"].get("segmenter")
        return None if name is None else named_segmenter(name)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The size and the special ids of the tokenizer, and how often the training text has each id."""
        from unmask.tokens.tokenizer.load import vocabulary_of
        from unmask.tokens.tokenizer.sentinels import sentinel_vocabulary

        vocabulary = (sentinel_vocabulary if self.sentinels else vocabulary_of)(self.tokenizer())
        return replace(vocabulary, counts=np.pad(self.counts, (0, vocabulary.size - len(self.counts))))

    def split(self, name: str) -> Shards:
        """The tokens of a split, `train` or `valid`."""
        return Shards(self.path / _check_split(name))

    def texts(self, name: str) -> Iterator[str]:
        """The documents of a split, in the order of its tokens."""
        return (text for texts, _ in read_documents(self._documents(name)) for text in texts)

    @cached_property
    def tokens_per_byte(self) -> float:
        """Of the held-out text: with it, what a token costs becomes what a byte costs, whatever the tokenizer."""
        size: int | None = self.manifest.get("text_bytes", {}).get("valid")
        if size is None:  # prepared before manifests had it
            size = sum(len(text.encode()) for text in self.texts("valid"))
        return self.split("valid").tokens / max(1, size)

    def spans(self, name: str) -> dict[str, Spans]:
        """The marked spans of a split, by kind; none where nobody marked any."""
        files = {kind: f"{_check_split(name)}/spans.{kind}.npy" for kind in SPAN_KINDS}
        return {kind: Spans.open(self.path / file) for kind, file in files.items() if file in self.manifest["files"]}

    def languages(self, name: str) -> Integers:
        """The language of each document of a split, as a place in the manifest's list of them."""
        return read_languages(self.path, self.manifest, _check_split(name))

    def mix(self) -> tuple[Integers, Reals] | None:
        """Of each training document its source's number in the mixture, and the weight of each; none without one."""
        return read_mix(self.path, self.manifest)

    def document_groups(self, name: str) -> dict[str, list[str | None]]:
        """The source of each document of a split, and its language where that was told."""
        return read_groups(self._documents(name), self.manifest.get("mix", ()))

    def sample(self, name: str, characters: int) -> list[str]:
        """About so many characters of whole documents, from places all over a split: the same each time."""
        return list(sample_documents(self._documents(name), characters))

    @cached_property
    def counts(self) -> Integers:
        """V counts: how often each id occurs in the training tokens."""
        try:
            counts: Integers = np.load(self.path / "train" / "counts.npy", allow_pickle=False)
            return counts
        except (ValueError, EOFError, OSError) as error:
            raise Damaged(f"{self.path / 'train' / 'counts.npy'}: cannot be read: {error}") from error

    def _documents(self, name: str) -> Path:
        return self.path / "documents" / _check_split(name)


def _check_split(split: str) -> str:
    if split not in SPLITS:
        raise BadInput(f"split {split!r}: there are {' and '.join(SPLITS)}")
    return split
