"""What models tuned to similarity and to retrieval say, and how well they do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.results.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """How alike two texts are, by a tuned model."""

    text: str
    pair: str
    cosine: float  # of their vectors
    score: float  # what such a cosine stood for on the pairs held out: a straight line, within low and high
    low: float  # the lowest score that was learnt from
    high: float  # and the highest
    tokens_read: int  # of both
    windows: int


@dataclass(frozen=True, kw_only=True)
class Relevance:
    """How well a passage answers a query, by a tuned model."""

    text: str  # the query
    pair: str  # the passage
    score: float  # more is better: of a dense model the cosine
    tokens_read: int  # of both
    windows: int


@dataclass(frozen=True, kw_only=True)
class WordWeight:
    """A word that a text is found by."""

    word: str
    weight: float
    gained: bool  # whether the text does not have it


@dataclass(frozen=True, kw_only=True)
class Expanded:
    """The words that a text is found by, those it has and those it gains, by a tuned model."""

    text: str
    words: tuple[WordWeight, ...]  # the heaviest first
    active: int  # how many have a weight
    tokens_read: int
    windows: int


@dataclass(frozen=True, kw_only=True)
class SimilarityBaseline:
    """What a simpler way comes to on the same pairs."""

    name: str
    spearman: Figure
    pearson: Figure


@dataclass(frozen=True, kw_only=True)
class PairError:
    """A pair whose place among all pairs is far from where its score puts it."""

    line: int
    text: str
    pair: str
    true: float  # its score
    said: float  # the model's
    off: float  # the share of all pairs that lie between


@dataclass(frozen=True, kw_only=True)
class JudgedSimilarity:
    """How well cosines follow the scores of pairs that the model was neither tuned nor chosen on."""

    data: Path
    examples: int
    empty: int  # lines without text, left out
    spearman: Figure
    pearson: Figure
    leaked: int = 0  # pairs that were learnt from, exactly, nearly or in runs of words
    clean_spearman: Figure | None = None  # without those
    clean_pearson: Figure | None = None
    baselines: tuple[SimilarityBaseline, ...]
    errors: tuple[PairError, ...]  # the twenty that are farthest off


@dataclass(frozen=True, kw_only=True)
class RetrievalWay:
    """How well one way of searching answers queries."""

    name: str
    ndcg_10: Figure
    mrr_10: Figure
    recall_100: Figure


@dataclass(frozen=True, kw_only=True)
class QueryError:
    """A query that is answered badly."""

    id: str
    text: str
    ndcg_10: float
    answers: tuple[str, ...]  # the documents that answer it
    said: tuple[str, ...]  # the first five that were found


@dataclass(frozen=True, kw_only=True)
class JudgedRetrieval:
    """How well documents are found for queries that the model was neither tuned nor chosen on."""

    data: Path
    queries: int
    documents: int
    ndcg_10: Figure
    mrr_10: Figure
    recall_100: Figure
    baselines: tuple[RetrievalWay, ...]  # the model with BM25, BM25 alone, the vectors before tuning
    leaked: int = 0  # queries that were learnt from, exactly, nearly or in runs of words
    clean_ndcg_10: Figure | None = None  # without those
    errors: tuple[QueryError, ...]  # the twenty worst
