"""Find the passage that answers a query by weighted words: the masked-LM head says which, those of the text and others.

    w_j   = max_i log(1 + relu(logit_ij))                              over the tokens i of a text
    L     = in-batch negatives on q·p  +  λ_q Σ_j (mean_q w_j)²  +  λ_d Σ_j (mean_p w_j)²

SPLADE (Formal et al. 2021, https://arxiv.org/abs/2109.10086): the second and the third term (FLOPS) make words rare,
with λ 5e-5 for queries and 3e-5 for documents, which rise with the square of the progress over the first third. Where
they do not, every word becomes active: then the training stops and says so. Every query is compared with every passage
of a step, so it is computed in two passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from unmask.errors import Diverged
from unmask.objectives.coupled import CoupledObjective
from unmask.objectives.objective import Outcome
from unmask.objectives.ranking import Judgments, StepRows, by_query, row_targets
from unmask.objectives.text_vectors import pooled_rows
from unmask.records import Reals
from unmask.task_batches import RetrievalBatch, TextBatch

QUERY_WEIGHT, DOCUMENT_WEIGHT = 5e-5, 3e-5  # λ, when they have risen
RISING = 1 / 3  # of the run
WATCHED = 1 / 2  # of the run, from where on a collapse stops it: a model may begin with many words
NEARLY_ALL = 0.9  # of the vocabulary, from which on vectors are no longer sparse
AT_ONCE = 1 << 25  # logits in a forward pass
LOGIT = 16  # bytes kept of each


@dataclass(frozen=True)
class SparseRanking(CoupledObjective[PreTrainedModel, RetrievalBatch]):
    """Tell the passage that answers a query from all others of the step, by few words."""

    judgments: Judgments
    progress: float = 1.0  # of the run
    sparsity: float = 1.0  # times the published weights of the two terms that make words rare

    name = "splade"
    paper = "SPLADE, Formal et al. 2021, https://arxiv.org/abs/2109.10086"

    @property
    def risen(self) -> float:
        """The part of λ that holds by now: the square of the progress over the first third."""
        return min(1.0, self.progress / RISING) ** 2

    @property
    def terms(self) -> Mapping[str, float]:
        """The ranking, and how many words queries and documents have."""
        weight = self.sparsity * self.risen
        return {"queries": 1.0, "query_words": QUERY_WEIGHT * weight, "document_words": DOCUMENT_WEIGHT * weight}

    @property
    def tally_sizes(self) -> Mapping[str, int]:
        """How many queries have their own passage first, and the active words of queries and passages."""
        return {"right": 1, "active": 2}

    def counts(self, batch: RetrievalBatch) -> dict[str, int]:
        """Queries, and queries and passages: the last two terms, one number each, are counted once for each."""
        queries, passages = len(batch.query_numbers), len(batch.passage_numbers)
        return {"queries": queries, "query_words": queries, "document_words": passages}

    def represent(self, learner: PreTrainedModel, batch: RetrievalBatch) -> Tensor:
        """R V: the weighted words of each query and of its passages, query by query."""
        weights = torch.cat((word_weights(learner, batch.queries), word_weights(learner, batch.passages)))
        return weights[torch.from_numpy(by_query(batch)).to(weights.device)]

    def targets(self, batch: RetrievalBatch) -> Reals:
        """R 2: what each row is, and its number as a query or as a passage."""
        return row_targets(batch)

    def joint_outcome(self, representations: Tensor, targets: Tensor) -> Outcome:
        """The summed cross-entropy of all queries of a step, and the two sums that make words rare."""
        rows = StepRows.of(targets, self.judgments)
        queries, passages = representations[rows.queries], representations[rows.passages]
        active = [(each > 0).sum(1).float().mean() for each in (queries, passages)]
        self._check_sparse(float(active[1]), representations.shape[1])
        scores = rows.products(representations)
        losses = {
            "queries": rows.cross_entropy(scores),
            "query_words": queries.mean(0).square().sum() * len(queries),
            "document_words": passages.mean(0).square().sum() * len(passages),
        }
        counts = torch.stack([active[0] * len(queries), active[1] * len(passages)])
        return Outcome(losses, {"right": rows.right(scores), "active": counts.detach()})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """The share of queries whose own passage came first, and how many words are active."""
        queries, passages = tallies["active"]
        return {
            "first": float(tallies["right"][0]) / max(1.0, counts["queries"]),
            "query_words": float(queries) / max(1.0, counts["query_words"]),
            "document_words": float(passages) / max(1.0, counts["document_words"]),
        }

    def _check_sparse(self, active: float, vocabulary: int) -> None:
        """Stop where all words are active in the second half of a run, or none is."""
        if self.progress < WATCHED or (0 < active < NEARLY_ALL * vocabulary):
            return
        state = "no word" if not active else f"{active:,.0f} of {vocabulary:,} words"
        remedy = "a lower --sparsity or --lr" if not active else "a higher --sparsity, or a lower --lr"
        raise Diverged(f"{state} of the vocabulary are active in a document: the vectors have collapsed; give {remedy}")


def word_weights(model: PreTrainedModel, batch: TextBatch) -> Tensor:
    """T V: the weight of every word of the vocabulary for each text, in float32; over windows the greatest."""
    vocabulary = int(model.config.get_text_config().vocab_size)
    tokens = max(1, AT_ONCE // vocabulary)
    weights, owners = pooled_rows(model, batch, _greatest_weights, tokens=tokens, head=LOGIT * vocabulary)
    index = owners.unsqueeze(1).expand_as(weights)
    return weights.new_zeros(batch.texts, weights.shape[1]).scatter_reduce(0, index, weights, "amax")


def _greatest_weights(output: Any, counted: Tensor) -> Tensor:
    """R V: over the tokens that count, the greatest log(1 + relu(logit))."""
    weights = torch.log1p(torch.relu(output.logits.float()))
    return (weights * counted.unsqueeze(2)).amax(1)
