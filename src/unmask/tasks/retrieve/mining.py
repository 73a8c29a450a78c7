"""Hard negatives: documents that look like answers and are not.

In: queries with answers (pairs in the order of queries), documents, and where there is one a model that was tuned for
vectors before. Out: for each example some documents, best by words (BM25) and by that model in turn. Left out is what
is judged to answer the query, and what scores above s⁺ − 0.05 · |s⁺|, s⁺ being the score of the example's own answer:
that may answer it too, and nobody has judged it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from unmask.progress import task
from unmask.records import Integers, Reals
from unmask.tasks.retrieve.batches import NONE
from unmask.words import words_of

MARGIN = 0.05  # of the answer's own score
DEPTH = 200  # documents that are looked at, for each query
CANDIDATES = 100  # documents that a reranker is to tell apart, for each query


def mine_negatives(
    pairs: Integers,
    queries: Sequence[str],
    documents: Sequence[str],
    count: int,
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
) -> Integers:
    """N H: the documents that are hard for each example; `vectors` are those of queries and documents by a model."""
    negatives = np.full((len(pairs), count), NONE, np.int64)
    if not count:
        return negatives
    answers: dict[int, set[int]] = {}
    for query, document in pairs.tolist():
        answers.setdefault(query, set()).add(document)
    ways = [word_scores(queries, documents)]
    if vectors is not None:
        ways.append(product_scores(*vectors))
    candidates: dict[int, list[Integers]] = {}  # by example, a list for each way
    with task("Mining hard negatives", total=len(queries) * len(ways)) as step:
        for way in ways:
            for query, scores in enumerate(way):
                for example in range(*np.searchsorted(pairs[:, 0], (query, query + 1)).tolist()):
                    own = int(pairs[example, 1])
                    candidates.setdefault(example, []).append(hard_documents(scores, own, answers.get(query, set())))
                step(1)
    for example, lists in candidates.items():
        chosen = list(dict.fromkeys(_in_turn(lists)))[:count]
        negatives[example, : len(chosen)] = chosen
    return negatives


def mine_candidates(pairs: Integers, queries: Sequence[str], documents: Sequence[str], count: int) -> Integers:
    """N H: documents that a search by words finds for the query of each example and that do not answer it.

    They are spread evenly over what is found: what reranks has to tell all of it apart, and not the first alone.
    """
    negatives = np.full((len(pairs), count), NONE, np.int64)
    with task("Finding candidates", total=len(queries)) as step:
        for query, scores in enumerate(word_scores(queries, documents)):
            begin, end = np.searchsorted(pairs[:, 0], (query, query + 1)).tolist()
            answers = set(pairs[begin:end, 1].tolist())
            ranked = [n for n in np.argsort(-scores, kind="stable")[:CANDIDATES].tolist() if n not in answers]
            others = np.array([number for number in ranked if documents[number]], np.int64)
            for example in range(begin, end):
                places = (np.arange(count) * len(others) + (example - begin)) // max(1, count)
                chosen = others[np.unique(places[places < len(others)])]
                negatives[example, : len(chosen)] = chosen
            step(1)
    return negatives


def hard_documents(scores: Reals, own: int, answers: set[int]) -> Integers:
    """The documents with the best scores that are neither answers nor above what may be one.

    >>> hard_documents(np.array([9.0, 10.0, 9.8, 5.0, 0.0]), 1, {1}).tolist()
    [0, 3]
    """
    bound = scores[own] - MARGIN * abs(scores[own])
    ranked = np.argsort(-scores, kind="stable")[:DEPTH]
    hard = [number for number in ranked.tolist() if 0 < scores[number] <= bound and number not in answers]
    return np.array(hard, np.int64)


def word_scores(queries: Sequence[str], documents: Sequence[str]) -> Iterator[Reals]:
    """For each query the BM25 scores of all documents."""
    from bm25s import BM25
    from bm25s.tokenization import Tokenized

    vocabulary: dict[str, int] = {"": 0}
    rows = [[vocabulary.setdefault(word.spelt, len(vocabulary)) for word in words_of(text)] for text in documents]
    if not any(rows):
        rows[0].append(0)
    table = BM25(k1=1.5, b=0.75, method="lucene", backend="numpy")
    table.index(Tokenized(ids=rows, vocab=vocabulary), show_progress=False)
    for text in queries:
        known = [vocabulary[word.spelt] for word in words_of(text) if word.spelt in vocabulary]
        yield np.asarray(table.get_scores_from_ids(known), np.float64) if known else np.zeros(len(documents))


def product_scores(queries: NDArray[np.float32], documents: NDArray[np.float32]) -> Iterator[Reals]:
    """For each query the cosines of all documents."""
    unit = [each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in (queries, documents)]
    for query in unit[0]:
        yield (unit[1] @ query).astype(np.float64)


def _in_turn(lists: Sequence[Integers]) -> Iterator[int]:
    """The first of each list, then the second of each, …"""
    for place in range(max(map(len, lists), default=0)):
        yield from (int(each[place]) for each in lists if place < len(each))
