"""Say where in its context the answer to a question begins and ends.

    L = −½ Σ_q ( log p(begin of q) + log p(end of q) ) / Q        p = softmax over all windows of q, and over no answer

One softmax goes over the places of all windows that a context is read in (shared normalisation, Clark & Gardner 2018),
as in use, where candidates of all windows stand against each other. The first token of the answer is right in every
window that has it. No answer stands against them once: by the first place of the row that speaks least for it, because
a window that does not have the answer says so rightly. Q is the number of questions of the whole step, so that the
micro-batches it is cut into change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from unmask.objectives.objective import Objective, Outcome
from unmask.objectives.row_outputs import row_outputs
from unmask.records import Reals
from unmask.task_batches import QuestionBatch

IMPOSSIBLE = -1e30  # the logarithm of nothing, which can be computed with


@dataclass(frozen=True)
class Answering(Objective[PreTrainedModel, QuestionBatch]):
    """Find answers."""

    name = "answering"
    paper = "begin and end with one softmax over all windows (Clark & Gardner 2018)"

    @property
    def terms(self) -> Mapping[str, float]:
        """One term."""
        return {"answers": 1.0}

    @property
    def tally_sizes(self) -> Mapping[str, int]:
        """How many were right."""
        return {"right": 1}

    def counts(self, batch: QuestionBatch) -> dict[str, int]:
        """Questions."""
        return {"answers": batch.questions}

    def outcome(self, learner: PreTrainedModel, batch: QuestionBatch) -> Outcome:
        """The summed loss of a batch, and of how many questions both begin and end are likeliest where they are."""
        logits = span_logits(learner, batch)
        owners, allowed, starts, ends = (
            torch.from_numpy(each).to(logits.device) for each in (batch.owners, batch.allowed, batch.starts, batch.ends)
        )
        loss = logits.new_zeros(())
        right = torch.ones(batch.questions, dtype=torch.bool, device=logits.device)
        for side, there in enumerate((starts, ends)):
            scores = logits[..., side]
            none = _least(scores[:, 0], owners, batch.questions) if batch.nullable else None
            spans, gold = (_pooled(scores, chosen, owners, batch.questions) for chosen in (allowed, there))
            everything = spans if none is None else torch.logaddexp(spans, none)
            answered = torch.zeros_like(right).index_fill(0, owners[there.any(1)], True)
            loss = loss + (everything - (gold if none is None else torch.where(answered, gold, none))).sum() / 2
            right &= _is_highest(scores, allowed, there, owners, none, answered)
        return Outcome({"answers": loss}, {"right": right.sum()})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """The share of questions that were right."""
        return {"right": float(tallies["right"][0]) / max(1.0, counts["answers"])}


def span_logits(model: PreTrainedModel, batch: QuestionBatch) -> Tensor:
    """R L 2: how well an answer begins, and ends, at each place, in float32."""
    return row_outputs(model, batch, lambda answer: torch.stack((answer.start_logits, answer.end_logits), dim=-1))


def _pooled(scores: Tensor, chosen: Tensor, owners: Tensor, questions: int) -> Tensor:
    """Q: log Σ exp over the chosen places of all rows of each question."""
    by_row = scores.masked_fill(~chosen, IMPOSSIBLE).logsumexp(1)
    top = by_row.new_full((questions,), IMPOSSIBLE).scatter_reduce(0, owners, by_row.detach(), "amax")
    sums = by_row.new_zeros(questions).index_add(0, owners, (by_row - top[owners]).exp())
    return sums.log() + top


def _least(scores: Tensor, owners: Tensor, questions: int) -> Tensor:
    """Q: the lowest score of all rows of each question."""
    return scores.new_zeros(questions).scatter_reduce(0, owners, scores, "amin", include_self=False)


def _is_highest(
    scores: Tensor, allowed: Tensor, there: Tensor, owners: Tensor, none: Tensor | None, answered: Tensor
) -> Tensor:
    """Q: whether nothing stands higher than what is right."""

    def highest(chosen: Tensor) -> Tensor:
        by_row = scores.detach().masked_fill(~chosen, IMPOSSIBLE).amax(1)
        return by_row.new_full((len(answered),), IMPOSSIBLE).scatter_reduce(0, owners, by_row, "amax")

    best, gold = highest(allowed), highest(there)
    return gold >= best if none is None else torch.where(answered, gold >= best.maximum(none), none > best)
