"""Near neighbours within a corpus: pairs of texts whose vectors point the same way.

In: vectors with their texts, of a vectors directory or an index. Out: `NearTexts`: the nearest pairs above a cosine,
and how many there are in all. Every pair is looked at, tile by tile, so that memory stays flat; time grows with the
square of the texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unmask.errors import BadInput
from unmask.inference.corpus_records import TextRecord
from unmask.inference.dense import pairs_above
from unmask.inference.index import Index
from unmask.inference.vector_store import INDEX, MANIFEST, VectorStore
from unmask.progress import task
from unmask.records import Integers
from unmask.results import NearPair, NearTexts

EXCERPT = 160  # characters of a text that a pair shows
CROWDED = 0.01  # of all pairs: above so many, nearness says nothing


def open_stores(path: Path) -> list[VectorStore]:
    """The vectors of a vectors directory, or of the segments of an index."""
    if (path / INDEX).is_file():
        return Index.open(path).segments
    return [VectorStore.open(path)]


def holds_vectors(path: Path) -> bool:
    """Whether a directory has vectors, so that no model is needed."""
    return (path / MANIFEST).is_file() or (path / INDEX).is_file()


def near_texts(path: Path, stores: Sequence[VectorStore], *, above: float, limit: int) -> NearTexts:
    """The nearest pairs above a cosine."""
    if not -1 <= above <= 1:
        raise BadInput(f"--above {above}: a cosine is between -1 and 1")
    if limit < 1:
        raise BadInput(f"--limit {limit}: list at least one pair")
    texts = sum(map(len, stores))
    owners = _owners(stores)
    best, cosines, total = np.zeros((0, 2), np.int64), np.zeros(0), 0
    with task("Comparing", total=texts**2 / 2) as step:
        for pairs, found, compared in pairs_above([store.vectors for store in stores], above):
            apart = owners[pairs[:, 0]] != owners[pairs[:, 1]]  # passages of one document overlap, and say the same
            pairs, found = pairs[apart], found[apart]
            total += len(found)
            joined = np.concatenate([cosines, found])
            order = np.argsort(-joined, kind="stable")[:limit]
            best, cosines = np.concatenate([best, pairs])[order], joined[order]
            step(compared, note=f"{total:,} pairs")
    listed = zip(best.tolist(), cosines.tolist(), strict=True)
    return NearTexts(
        path=path,
        texts=texts,
        above=above,
        total=total,
        crowded=total > max(limit, CROWDED * texts * (texts - 1) / 2),
        pairs=tuple(_pair(_record(stores, one), _record(stores, other), cosine) for (one, other), cosine in listed),
    )


def _owners(stores: Sequence[VectorStore]) -> Integers:
    """The document that each passage is of, as a number; a text that is no passage is one of its own."""
    numbers: dict[str, int] = {}
    records = (record for store in stores for record in store.records())
    names = (record.document or f"{place}" for place, record in enumerate(records))
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _record(stores: Sequence[VectorStore], number: int) -> TextRecord:
    for store in stores:
        if number < len(store):
            return store.record(number)
        number -= len(store)
    raise IndexError(number)


def _pair(one: TextRecord, other: TextRecord, cosine: float) -> NearPair:
    return NearPair(first=one.id, second=other.id, cosine=cosine, excerpts=(_excerpt(one), _excerpt(other)))


def _excerpt(record: TextRecord) -> str:
    """The beginning of a text, in one line."""
    text = " ".join(record.text.split())
    return text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1]}…"
