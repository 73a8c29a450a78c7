"""Some documents of each source, clean, without reading the whole.

In: sources. Out: the first documents of files from all over them, as many characters of each, repaired and cleaned as
`prepare` does. Standard input can be read once only, and so it cannot be sampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from unmask.corpus.clean import clean_texts
from unmask.corpus.read.encodings import UTF8
from unmask.corpus.read.find import WHOLE, find_sources
from unmask.corpus.read.reader import read_source
from unmask.corpus.rules.repair import repair_text
from unmask.errors import BadInput
from unmask.records import Document

CHARACTERS = 16 << 20  # of a sample
FILES = 256  # that it is taken from at most
BATCH = 256  # documents that are cleaned at a time


def read_sample(
    sources: Sequence[str],
    *,
    field: str = "text",
    encoding: str = UTF8,
    html: str = WHOLE,
    characters: int = CHARACTERS,
) -> Iterator[Document]:
    """Documents from all over the sources, at most about so many characters."""
    files = [replace(source, encoding=encoding, html=html) for source in find_sources(sources)]
    if any(file.format == "stdin" for file in files):
        raise BadInput("standard input cannot be sampled, because it can be read only once: name files")
    chosen = files[:: -(-len(files) // FILES) or 1]
    batch: list[Document] = []
    for file in chosen:
        remaining = characters // len(chosen)
        for record in read_source(file, field):
            if isinstance(record, Document):
                batch.append(record)
                remaining -= len(record.text)
                if len(batch) == BATCH:
                    yield from _cleaned(batch)
                    batch = []
            if remaining <= 0:
                break
    yield from _cleaned(batch)


def _cleaned(batch: Sequence[Document]) -> Iterator[Document]:
    texts = pa.array([repair_text(document.text)[0] for document in batch], pa.large_string())
    for document, text in zip(batch, clean_texts(texts).to_pylist(), strict=True):
        if text:
            yield replace(document, text=text, marks=())
