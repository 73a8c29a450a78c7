"""How well a model finds answers while it trains: on held-out queries, among the documents of the collection.

In: a model, held-out queries and documents as rows. Out: nDCG@10, MRR@10 and recall@100. On the way the documents are
those that answer and an even sample of the others; in the end all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.records import Integers
from unmask.results import FigureTitle
from unmask.tasks.retrieve.collection import Collection, JudgedQueries
from unmask.tasks.retrieve.measures import measure_rankings
from unmask.tasks.sentence_batches import SentenceRows
from unmask.tasks.sentence_vectors import vectors_of
from unmask.training.machine.distributed import World

NDCG = FigureTitle("ndcg_10", "nDCG@10", better="more")
MRR = FigureTitle("mrr_10", "MRR@10", better="more")
RECALL = FigureTitle("recall_100", "Recall@100", better="more")
DEPTH = 100  # documents that are ranked


@dataclass(frozen=True, eq=False)
class RetrievalValidation:
    """Measures on queries that are held out."""

    collection: Collection
    judged: JudgedQueries
    queries: SentenceRows
    documents: SentenceRows  # of the whole collection

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return int(self.queries.work.sum() + self.documents.work.sum())

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """The figures among all documents, or among so many that it takes about `limit` tokens."""
        assert isinstance(learner, PreTrainedModel)
        numbers = self.sample(limit)
        vectors = [vectors_of(learner, rows, world=world) for rows in (self.queries, self.documents.only(numbers))]
        unit = [each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in vectors]
        names = np.array(list(self.collection.documents), dtype=object)[numbers]
        best = np.argsort(-(unit[0] @ unit[1].T), axis=1, kind="stable")[:, :DEPTH]
        figures = measure_rankings([query.grades for query in self.judged.examples], [names[row] for row in best])
        return {name: float(each.mean()) for name, each in figures.items()}

    def sample(self, limit: int | None) -> Integers:
        """The numbers of documents: those that answer, and an even sample of the others."""
        everything = np.arange(len(self.documents.tokens))
        if limit is None or self.tokens <= limit:
            return everything
        answers = np.unique(self.judged.pairs(self.collection)[:, 1])
        others = np.setdiff1d(everything, answers)
        room = limit - int(self.queries.work.sum()) - int(self.documents.work[answers].sum())
        count = max(1, round(len(others) * max(0, room) / max(1, int(self.documents.work[others].sum()))))
        return np.union1d(answers, others[:: max(1, len(others) // count)])
