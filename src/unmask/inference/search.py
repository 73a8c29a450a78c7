"""A query to the passages that answer it: by words, by vectors, or by both.

In: an index and queries. Out: `Searched`, one for each query: the best passage of each document, best first, with the
words that it shares with the query.

    bm25     shared words, rare ones counting most; no model is asked
    dense    the cosine of vectors: near in meaning, as far as the model was tuned for that
    sparse   the product of weighted words, those of the texts and those they gained, by a model tuned for that
    fused    both: the sum of 1 / (60 + rank) over the two lists (reciprocal rank fusion, Cormack et al. 2009)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput
from unmask.inference.dense import nearest
from unmask.inference.faiss_index import FaissIndex, check_faiss
from unmask.inference.index import Index
from unmask.records import Integers, Reals
from unmask.results import Hit, Searched
from unmask.words import words_of

By = Literal["bm25", "dense", "sparse", "fused"]
Ranking = tuple[Integers, Reals]  # numbers of passages, best first, and their scores
Embed = Callable[[Sequence[str]], NDArray[np.float32]]  # queries as vectors, made as those of the index
FUSION = 60  # added to ranks before they are inverted: the paper's
TOGETHER = 256  # queries that are compared with the vectors in one pass
DEPTH = 100  # passages that are ranked at the least, in each way


class Ways(NamedTuple):
    """A query's rankings, by the way they were made."""

    rankings: dict[str, Ranking]

    @property
    def final(self) -> Ranking:
        """The one ranking, or all of them fused."""
        lists = list(self.rankings.values())
        return lists[0] if len(lists) == 1 else fuse([numbers for numbers, _ in lists])


def default_way(index: Index) -> By:
    """By words alone where the model was not tuned for sentences: its vectors would take away more than they add."""
    return "fused" if index.settings.tuned else "bm25"


def search_index(
    index: Index,
    queries: Sequence[str],
    embed: Embed | None,
    *,
    by: By,
    top: int = 10,
    exact: bool = False,
) -> list[Searched]:
    """The best passages for each of several queries."""
    if top < 1:
        raise BadInput(f"--top {top}: ask for at least one passage")
    depth = min(len(index), max(DEPTH, 10 * top))
    rankings: list[dict[str, Ranking]] = [{} for _ in queries]
    head = index.settings.head
    if by in ("dense", "sparse") and by != head:
        raise BadInput(f"--by {by}: {index.path} was made with a {head} model; give --by {head}")
    if by in ("bm25", "fused"):
        for query, ranking in zip(queries, rankings, strict=True):
            ranking["bm25"] = index.words.top(query, depth)
    if by != "bm25":
        assert embed is not None  # vectors need a model
        for begin in range(0, len(queries), TOGETHER):
            group = slice(begin, begin + TOGETHER)
            for ranking, found in zip(rankings[group], _dense(index, embed(queries[group]), depth, exact), strict=True):
                ranking[head] = found
    return [
        Searched(
            query=query, index=index.path, by=by, tuned=index.settings.tuned, hits=tuple(_hits(index, query, ways, top))
        )
        for query, ways in zip(queries, map(Ways, rankings), strict=True)
    ]


def _dense(index: Index, queries: NDArray[np.float32], depth: int, exact: bool) -> list[Ranking]:
    if index.faiss is None or exact:
        return nearest(queries, index.blocks(), depth)
    check_faiss()
    return FaissIndex(index.path / index.faiss.file, index.faiss.looked_into).nearest(queries, depth)


def fuse(lists: Sequence[Integers]) -> Ranking:
    """Rankings as one: what stands high in several of them comes first.

    >>> fuse([np.array([7, 8]), np.array([8, 9])])[0].tolist()
    [8, 7, 9]
    """
    scores: dict[int, float] = {}
    for numbers in lists:
        for rank, number in enumerate(numbers.tolist(), start=1):
            scores[number] = scores.get(number, 0.0) + 1 / (FUSION + rank)
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    return np.array([number for number, _ in ranked], dtype=np.int64), np.array([score for _, score in ranked])


def _hits(index: Index, query: str, ways: Ways, top: int) -> Iterator[Hit]:
    """The best passage of each document."""
    numbers, scores = ways.final
    ranks = {
        way: {number: rank for rank, number in enumerate(found.tolist(), 1)}
        for way, (found, _) in ways.rankings.items()
    }
    telling = _telling_words(index, query)
    documents: set[str] = set()
    for number, score in zip(numbers.tolist(), scores.tolist(), strict=True):
        record = index.record(number)
        if record.document in documents:
            continue
        documents.add(record.document)
        matches = [word for word in words_of(record.text) if word.spelt in telling]
        yield Hit(
            id=record.id,
            document=record.document,
            passage=record.passage,
            score=score,
            ranks={way: places[number] for way, places in ranks.items() if number in places},
            text=record.text,
            matched=tuple((word.begin, word.end) for word in matches),
        )
        if len(documents) == top:
            return


def _telling_words(index: Index, query: str) -> set[str]:
    """The words of a query that few passages have; all of them where most have all."""
    words = {word.spelt for word in words_of(query)}
    return {word for word in words if not index.words.is_common(word)} or words
