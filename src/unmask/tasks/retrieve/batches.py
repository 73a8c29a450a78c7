"""The batches of queries with passages, by the numbers of their examples: what processes that prepare ahead compute.

In: queries and documents as rows of ids, and which documents answer which queries. Out: the batch of any stretch of the
run, a function of its numbers. An example is a query with one document that answers it. Within a step no query and no
document occurs twice, as far as the examples allow: what is there twice is no negative. Neither torch nor a tokenizer
is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from unmask.records import Integers
from unmask.task_batches import RetrievalBatch
from unmask.tasks.order import ExampleOrder
from unmask.tasks.sentence_batches import SentenceRows
from unmask.tokens.pack import random_order

NONE = -1  # where an example has no more hard negatives


@dataclass(frozen=True, eq=False, kw_only=True)
class DistinctOrder(ExampleOrder):
    """Every epoch has an order of its own, in which the examples of a step share neither query nor document.

    An epoch has whole steps only: what is left over, fewer examples than a step has, waits for the next epoch, whose
    order is another.
    """

    pairs: Integers  # N 2: the query and the document of each example

    @property
    def steps(self) -> int:
        """How many steps an epoch has."""
        return max(1, self.per_epoch // self.batch_size)

    def examples(self, begin: int, end: int) -> Integers:
        """Which examples these numbers of the whole run are."""
        steps, places = np.divmod(np.arange(begin, end), self.batch_size)
        epochs, nth = np.divmod(steps, self.steps)
        where = zip(epochs.tolist(), nth.tolist(), places.tolist(), strict=True)
        return np.array([_steps_of(self, epoch)[step, place] for epoch, step, place in where], np.int64)


class StepChoice:
    """The examples of a step, as they are chosen: no query and no document twice."""

    def __init__(self, pairs: Integers, size: int) -> None:
        self.pairs, self.size = pairs, size
        self.chosen: list[int] = []
        self.queries: set[int] = set()
        self.documents: set[int] = set()

    def take_from(self, numbers: list[int]) -> list[int]:
        """Take examples until there are enough; those that were not taken."""
        later: list[int] = []
        for place, number in enumerate(numbers):
            if len(self.chosen) == self.size:
                return later + numbers[place:]
            if not self.take(number):
                later.append(number)
        return later

    def take(self, number: int) -> bool:
        """Take an example if it fits; whether it was taken."""
        query, document = self.pairs[number].tolist()
        if query in self.queries or document in self.documents:
            return False
        self.chosen.append(number)
        self.queries.add(query)
        self.documents.add(document)
        return True


@lru_cache(maxsize=4)
def _steps_of(order: DistinctOrder, epoch: int) -> Integers:
    """S B: the examples of each step of an epoch: of what is left, in their order, the first that fit together.

    Where too few are left that do, others go twice, and what is left waits for the next epoch.
    """
    size = order.batch_size
    left = spread_queries(order, epoch).tolist()
    used: list[int] = []
    steps = []
    for _ in range(order.steps):
        step = StepChoice(order.pairs, size)
        left = step.take_from(left)
        step.take_from(used)
        missing = size - len(step.chosen)  # nothing fits: the loss bars what answers a query too
        chosen = step.chosen + left[:missing]
        left = left[missing:]
        used += chosen
        steps.append(chosen)
    return np.array(steps, np.int64)


def spread_queries(order: DistinctOrder, epoch: int) -> Integers:
    """N: the examples at random, but those of a query spread evenly over the epoch, so that steps can do without two.

    The nth of the k examples of a query, in a random order, stands at (n + u) / k, u being drawn for each query.
    """
    shuffled = random_order(order.per_epoch, order.seed, epoch, 1)
    queries, counts = np.unique(order.pairs[:, 0], return_counts=True)
    owners = np.searchsorted(queries, order.pairs[shuffled, 0])
    by_query = np.argsort(owners, kind="stable")
    nth = np.empty(len(owners), np.int64)
    nth[by_query] = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    offsets = np.argsort(random_order(len(queries), order.seed, epoch, 2)) / len(queries)
    return shuffled[np.argsort((nth + offsets[owners]) / counts[owners], kind="stable")]


@dataclass(frozen=True, eq=False, kw_only=True)
class RetrievalBatches:
    """The queries of every epoch, each with its passages."""

    queries: SentenceRows
    documents: SentenceRows
    negatives: Integers  # N H: the hard negatives of each example, -1 where it has no more
    order: DistinctOrder

    def batch(self, stretch: tuple[int, int]) -> RetrievalBatch:
        """The examples from one number of the whole run to another."""
        numbers = self.order.examples(*stretch)
        pairs = self.order.pairs[numbers]
        documents = np.concatenate([pairs[:, 1:], self.negatives[numbers]], axis=1)
        there = documents != NONE
        owners, passages = np.nonzero(there)[0], documents[there]
        return RetrievalBatch(
            queries=self.queries.batch(pairs[:, 0]),
            passages=self.documents.batch(passages),
            owners=owners.astype(np.int64),
            query_numbers=pairs[:, 0],
            passage_numbers=passages,
        )
