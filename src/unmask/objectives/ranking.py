"""Find the passage that answers a query among all passages of a step.

    L = −Σ_i log softmax_j(20 · cos(q_i, p_j))[i's own] / N              over every passage j of the step

The passages of other queries, and the hard negatives of all, are the negatives (van den Oord et al. 2018; Karpukhin et
al. 2020, https://arxiv.org/abs/2004.04906), but for those that are judged to answer query i too. With `dimensions` the
loss is the mean over vectors cut to each of them (Matryoshka, Kusupati et al. 2022, https://arxiv.org/abs/2205.13147).
Every query of a step is compared with every passage of it, so it is computed in two passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.objectives.coupled import CoupledObjective
from unmask.objectives.objective import Outcome
from unmask.objectives.text_vectors import mean_vectors
from unmask.records import Integers, Reals
from unmask.task_batches import RetrievalBatch

SCALE = 20.0
QUERY, ANSWER, OTHER = 0, 1, 2  # what a row of a step is


@dataclass(frozen=True)
class Judgments:
    """Which passages are judged to answer which queries, by their numbers."""

    codes: Integers = field(compare=False)  # query · passages + passage, ascending
    passages: int  # how many there are

    @classmethod
    def of(cls, pairs: Integers, passages: int) -> Judgments:
        """From pairs of a query and a passage that answers it, P 2."""
        return cls(np.unique(pairs[:, 0] * passages + pairs[:, 1]), passages)

    def between(self, queries: Tensor, passages: Tensor) -> Tensor:
        """B M: whether a passage is judged to answer a query."""
        codes = queries.unsqueeze(1) * self.passages + passages.unsqueeze(0)
        return torch.isin(codes, torch.from_numpy(self.codes).to(codes.device))


@dataclass(frozen=True)
class InBatchNegatives(CoupledObjective[PreTrainedModel, RetrievalBatch]):
    """Tell the passage that answers a query from all others of the step."""

    judgments: Judgments
    dimensions: tuple[int, ...] = ()  # that vectors are cut to besides
    scale: float = SCALE

    name = "in-batch negatives"
    paper = "DPR, Karpukhin et al. 2020, https://arxiv.org/abs/2004.04906"

    @property
    def terms(self) -> Mapping[str, float]:
        """One term."""
        return {"queries": 1.0}

    @property
    def tally_sizes(self) -> Mapping[str, int]:
        """How many queries have their own passage before all others."""
        return {"right": 1}

    def counts(self, batch: RetrievalBatch) -> dict[str, int]:
        """Queries."""
        return {"queries": len(batch.query_numbers)}

    def represent(self, learner: PreTrainedModel, batch: RetrievalBatch) -> Tensor:
        """R D: the vectors of each query and of its passages, query by query."""
        vectors = torch.cat((mean_vectors(learner, batch.queries), mean_vectors(learner, batch.passages)))
        return vectors[torch.from_numpy(by_query(batch)).to(vectors.device)]

    def targets(self, batch: RetrievalBatch) -> Reals:
        """R 2: what each row is, and its number as a query or as a passage."""
        return row_targets(batch)

    def joint_outcome(self, representations: Tensor, targets: Tensor) -> Outcome:
        """The summed cross-entropy of all queries of a step."""
        losses = []
        rows = StepRows.of(targets, self.judgments)
        for size in (representations.shape[1], *self.dimensions):
            unit = F.normalize(representations[:, :size], dim=1)
            losses.append(rows.cross_entropy(self.scale * rows.products(unit)))
            if size == representations.shape[1]:
                right = rows.right(rows.products(unit))
        return Outcome({"queries": torch.stack(losses).mean()}, {"right": right})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """The share of queries whose own passage came first in the step."""
        return {"first": float(tallies["right"][0]) / max(1.0, counts["queries"])}


@dataclass(frozen=True)
class StepRows:
    """Which rows of a step are queries and passages, and what a query is not to be compared with."""

    queries: Tensor  # where they are
    passages: Tensor
    own: Tensor  # B: of each query, the place of its answer among the passages
    barred: Tensor  # B M: passages that answer a query too, and are not its own

    @classmethod
    def of(cls, targets: Tensor, judgments: Judgments) -> StepRows:
        """From what each row is."""
        kinds, numbers = targets.long().unbind(1)
        queries, passages = (kinds == QUERY).nonzero()[:, 0], (kinds != QUERY).nonzero()[:, 0]
        own = (kinds[passages] == ANSWER).nonzero()[:, 0]
        barred = judgments.between(numbers[queries], numbers[passages])
        barred[torch.arange(len(own), device=own.device), own] = False
        return cls(queries, passages, own, barred)

    def products(self, vectors: Tensor) -> Tensor:
        """B M: the product of each query with each passage."""
        return vectors[self.queries] @ vectors[self.passages].T

    def cross_entropy(self, scores: Tensor) -> Tensor:
        """The sum over queries of how surprising their own passage is."""
        return F.cross_entropy(scores.masked_fill(self.barred, -torch.inf), self.own, reduction="sum")

    def right(self, scores: Tensor) -> Tensor:
        """How many queries have their own passage first."""
        return (scores.detach().masked_fill(self.barred, -torch.inf).argmax(1) == self.own).sum()


def by_query(batch: RetrievalBatch) -> Integers:
    """R: the order in which each query is followed by its passages, of rows with all queries first."""
    owners = np.concatenate([np.arange(len(batch.query_numbers)), batch.owners])
    return np.argsort(owners, kind="stable")


def row_targets(batch: RetrievalBatch) -> Reals:
    """R 2: of each row, query by query, what it is and its number."""
    first = np.diff(batch.owners, prepend=-1) != 0
    kinds = np.concatenate([np.full(len(batch.query_numbers), QUERY), np.where(first, ANSWER, OTHER)])
    numbers = np.concatenate([batch.query_numbers, batch.passage_numbers])
    return np.stack([kinds, numbers], axis=1)[by_query(batch)].astype(np.float64)
