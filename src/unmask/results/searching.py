"""Vectors, indexes and what is found in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """A text as a vector, and how much of it was read."""

    text: str
    vector: tuple[float, ...]
    tokens_read: int
    windows: int  # that it was read in
    cut: int = 0  # tokens that were not read, where cutting was chosen


@dataclass(frozen=True, kw_only=True)
class VectorsWritten:
    """A vectors directory: what was embedded, and how."""

    path: Path
    model: Path
    texts: int
    dimensions: int
    pooling: str
    normalised: bool
    whitened: int  # directions that were taken away, beside the mean; 0 is not whitened
    dtype: str
    tokens_read: int
    windows: int
    cut: int
    continued_after: int = 0  # texts that a command which was stopped had embedded
    seconds: float
    next: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Indexed:
    """A search index, made or changed."""

    path: Path
    model: Path
    documents: int
    passages: int
    added: int  # documents, by this command
    removed: int
    dimensions: int
    tuned: bool  # whether the model was tuned for vectors of sentences
    whitened: int  # directions that are taken away, beside the mean; 0 is not whitened
    faiss_recall: float | None = None  # of the ten nearest, on a sample; none where search is exact
    seconds: float
    next: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A passage that answers a query."""

    id: str
    document: str
    passage: int  # its number in the document, from 1
    score: float  # BM25's, a cosine, the sum of inverted ranks, or a reranker's logit
    ranks: dict[str, int]  # in each way that it was found; "before" is that before reranking
    text: str
    matched: tuple[tuple[int, int], ...]  # where words of the query stand in the text


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The best passages for a query, one of each document, best first."""

    query: str
    index: Path
    by: str  # bm25, dense or fused
    tuned: bool  # whether the index's model was tuned for vectors of sentences
    hits: tuple[Hit, ...]
    reranked: Path | None = None  # the model by whose order they stand, if one was asked


@dataclass(frozen=True, kw_only=True)
class NearPair:
    """Two texts whose vectors point the same way."""

    first: str  # ids
    second: str
    cosine: float
    excerpts: tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class NearTexts:
    """Near neighbours within a corpus, the nearest pairs first."""

    path: Path
    texts: int
    above: float  # the cosine that all pairs have at the least
    total: int  # pairs above it
    crowded: bool  # so many that nearness says nothing
    pairs: tuple[NearPair, ...]  # as many as were to be listed
