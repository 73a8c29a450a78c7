"""Masked diffusion: restore text of which any share is hidden (MDLM, Sahoo et al. 2024; LLaDA, Nie et al. 2025).

Needs rows hidden at a time t of their own, all shown as the mask, with the weight 1/t: the policy `diffusion`.

    loss = (1/n) E_t [ (1/t) Σ_{i ∈ M_t} −log P(x_i | x with M_t masked) ],   n tokens of text, M_t a share t of them

This bounds the negative log-likelihood of the text from above, and is equal to it where P is the true posterior. As in
MDLM's substitution, no probability goes to the mask itself (its logit is −∞ here; whoever samples from the model has
to bar it too), and what is shown stays as it is: nothing is predicted there.

Measures how many were restored, and on held-out text the bound in bits per byte. Exports the model as it is: a masked
language model.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import ClassVar

from transformers import PreTrainedModel

from unmask.models.families.family import MASKED_LMS
from unmask.models.inputs import as_inputs
from unmask.objectives.objective import Outcome
from unmask.objectives.text import ModelObjective
from unmask.objectives.vocabulary import predict_tokens
from unmask.records import Batch, PolicyProperties, Reals


class Diffusion(ModelObjective):
    """Restore what is hidden, however much it is."""

    name = "diffusion"
    also = ("mdlm",)
    paper = "masked diffusion language modelling; MDLM, Sahoo et al. 2024"
    uses = ("unmask generate RUN --count 3",)
    usual = "diffusion"
    families = MASKED_LMS
    terms: ClassVar = {"bound": 1.0}
    tally_sizes: ClassVar = {"nats": 1, "correct": 1, "hidden": 1}
    held_out = True

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Rows with weights of their own."""
        return policy.in_place and policy.weighted

    def counts(self, batch: Batch) -> dict[str, int]:
        """The tokens of text, hidden or not: a row's hidden tokens times its weight are all that it has."""
        return {"bound": round(float(_weights(batch).sum()))}

    def outcome(self, learner: PreTrainedModel, batch: Batch) -> Outcome:
        """Cross-entropy at the hidden positions, each by its row's weight."""
        # wherever something is predicted there is a mask
        mask = int(batch.ids.reshape(-1)[batch.predicted[0]]) if len(batch.predicted) else None
        guesses = predict_tokens(learner, batch.predicted, batch.targets, never=mask, **as_inputs(learner, batch))
        loss = guesses.losses @ guesses.losses.new_tensor(_weights(batch))
        hidden = guesses.losses.new_tensor(len(batch.targets))
        return Outcome({"bound": loss}, {"nats": loss.detach(), "correct": guesses.right.sum(), "hidden": hidden})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many were restored by the best guess, and what a token costs at the most."""
        return {
            "accuracy": tallies["correct"].item() / max(1.0, tallies["hidden"].item()),
            "bits_per_token": tallies["nats"].item() / log(2) / max(1.0, counts["bound"]),
        }

    def masked_lm(self, learner: PreTrainedModel) -> PreTrainedModel | None:
        """The model itself."""
        return learner


def _weights(batch: Batch) -> Reals:
    """P: the weight of each prediction."""
    assert batch.weights is not None
    weights: Reals = batch.weights[batch.predicted // batch.ids.shape[1]]
    return weights
