"""Tell the document that answers a query from others that were found for it, each read together with the query.

    L = −Σ_i log softmax_c(s(q_i, d_ic))[i's answer] / N           over the candidates c of query i

A query and a document are one row, so every word of one sees every word of the other (a cross-encoder: Nogueira & Cho
2019, https://arxiv.org/abs/1901.04085); s is the greatest logit over the windows that a long document is read in. The
other candidates come from what a first search finds (LCE, Gao et al. 2021, https://arxiv.org/abs/2101.08751). A query
is compared with its own candidates alone, so how a step is cut up changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.objectives.objective import Objective, Outcome
from unmask.objectives.row_outputs import row_outputs
from unmask.records import Reals
from unmask.task_batches import CandidateBatch, LabelledBatch


@dataclass(frozen=True)
class Reranking(Objective[PreTrainedModel, CandidateBatch]):
    """Tell the answer from the other candidates of a query."""

    name = "reranking"
    paper = "LCE, Gao et al. 2021, https://arxiv.org/abs/2101.08751"

    @property
    def terms(self) -> Mapping[str, float]:
        """One term."""
        return {"queries": 1.0}

    @property
    def tally_sizes(self) -> Mapping[str, int]:
        """How many queries have their answer before all other candidates."""
        return {"right": 1}

    def counts(self, batch: CandidateBatch) -> dict[str, int]:
        """Queries."""
        return {"queries": batch.predictions}

    def outcome(self, learner: PreTrainedModel, batch: CandidateBatch) -> Outcome:
        """The summed cross-entropy of the queries of a batch."""
        scores = candidate_table(best_logits(learner, batch)[:, 0], torch.from_numpy(batch.queries))
        answers = scores.new_zeros(len(scores), dtype=torch.long)
        loss = F.cross_entropy(scores, answers, reduction="sum")
        return Outcome({"queries": loss}, {"right": (scores.detach().argmax(1) == answers).sum()})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """The share of queries whose answer came first among its candidates."""
        return {"first": float(tallies["right"][0]) / max(1.0, counts["queries"])}


def best_logits(model: PreTrainedModel, batch: LabelledBatch) -> Tensor:
    """B C: the greatest of the logits over the rows of each text, in float32."""
    by_row = row_outputs(model, batch, lambda answer: answer.logits)
    owners = torch.from_numpy(batch.owners).to(by_row.device).unsqueeze(1).expand_as(by_row)
    lowest = by_row.new_full((len(batch.targets), by_row.shape[1]), -torch.inf)
    return lowest.scatter_reduce(0, owners, by_row, "amax")


def candidate_table(scores: Tensor, queries: Tensor) -> Tensor:
    """Q C: the scores of pairs, a row for each query; −∞ where a query has fewer candidates than another.

    >>> candidate_table(torch.tensor([3.0, 1.0, 2.0]), torch.tensor([0, 0, 1])).tolist()
    [[3.0, 1.0], [2.0, -inf]]
    """
    queries = queries.to(scores.device)
    sizes = torch.bincount(queries)
    places = torch.arange(len(queries), device=scores.device) - (sizes.cumsum(0) - sizes)[queries]
    table = scores.new_full((len(sizes), int(sizes.max())), -torch.inf)
    return table.index_put((queries, places), scores)
