"""Masked language modelling: restore the hidden tokens from both sides (Devlin et al. 2019).

Needs hidden tokens. Measures how many were restored. Exports the model as it is.

    loss = −(1/|M|) Σ_{i ∈ M} log P(x_i | corrupted x),   M the hidden positions
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from transformers import PreTrainedModel

from unmask.models.families.family import MASKED_LMS
from unmask.models.inputs import as_inputs
from unmask.objectives.objective import Outcome
from unmask.objectives.text import ModelObjective
from unmask.objectives.vocabulary import Look, predict_tokens
from unmask.records import Batch, PolicyProperties, Reals


@dataclass(frozen=True)
class MaskedLoss:
    """A summed loss with what it was summed over."""

    loss: Tensor  # nats, summed over the predicted positions
    predicted: int
    correct: Tensor  # how many were restored by the best guess


class MLM(ModelObjective):
    """Restore what is hidden."""

    name = "mlm"
    paper = "masked language modelling, MLM; BERT, Devlin et al. 2019"
    usual = "token"
    families = MASKED_LMS
    terms: ClassVar = {"mlm": 1.0}
    tally_sizes: ClassVar = {"correct": 1}

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Whatever hides in place."""
        return plainly_in_place(policy)

    def counts(self, batch: Batch) -> dict[str, int]:
        """The hidden positions."""
        return {"mlm": len(batch.targets)}

    def outcome(self, learner: PreTrainedModel, batch: Batch) -> Outcome:
        """Cross-entropy at the hidden positions."""
        masked_loss = masked_lm_loss(learner, batch)
        return Outcome({"mlm": masked_loss.loss}, {"correct": masked_loss.correct})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many were restored by the best guess."""
        return {"accuracy": tallies["correct"].item() / max(1.0, counts["mlm"])}

    def masked_lm(self, learner: PreTrainedModel) -> PreTrainedModel | None:
        """The model itself."""
        return learner


def plainly_in_place(policy: PolicyProperties) -> bool:
    """Whether hidden tokens are restored where they stood, each counting as much as any other."""
    return policy.in_place and not policy.weighted


def masked_lm_loss(model: PreTrainedModel, batch: Batch, look: Look | None = None) -> MaskedLoss:
    """The summed loss over the hidden positions of a batch."""
    guesses = predict_tokens(model, batch.predicted, batch.targets, look=look, **as_inputs(model, batch))
    return MaskedLoss(guesses.losses.sum(), len(batch.targets), guesses.right.sum())
