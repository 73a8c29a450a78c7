"""Masked spans and their boundaries: each hidden token is restored twice (SpanBERT, Joshi et al. 2020).

Needs hidden spans and the columns around each run of them. Once a token is restored in place, as in masked language
modelling; once from nothing but the two tokens around its run and its place in it, so that they come to know what
lies between them. Measures both. Exports the model, which fills blanks as any other, and the boundary head beside it.

    loss = −(1/|M|) Σ_{i ∈ M} [ log P(x_i | h_i) + log P(x_i | h_{s−1}, h_{e+1}, p_{i−s}) ]

M are the hidden positions, s and e the first and the last of the run that i stands in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from torch import Tensor
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.models.families.family import MASKED_LMS
from unmask.models.heads import BOUNDARY, SpanBoundaryHead, states_kept
from unmask.objectives.mlm import masked_lm_loss
from unmask.objectives.objective import Outcome
from unmask.objectives.text import Build, Export, TextObjective
from unmask.objectives.vocabulary import Guesses, decode_states, pad_predictions
from unmask.records import Batch, PolicyProperties, Reals


class BoundaryLearner(Module):
    """A masked language model and a boundary head that shares its embeddings."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        config = model.config
        self.model = model
        self.boundary = SpanBoundaryHead(config.hidden_size, config.vocab_size, spread=config.initializer_range)


class SpanBoundary(TextObjective[BoundaryLearner]):
    """Restore what is hidden, in place and from the edges of its span."""

    name = "spans"
    also = ("sbo",)
    paper = "span boundary objective, SBO; SpanBERT, Joshi et al. 2020"
    usual = "span"
    families = MASKED_LMS
    terms: ClassVar = {"mlm": 1.0, "boundary": 1.0}
    tally_sizes: ClassVar = {"correct": 1, "boundary_correct": 1}
    held_out = True

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Hidden runs whose edges are named."""
        return policy.in_place and policy.edges

    def learner(self, build: Build) -> BoundaryLearner:
        """The model, and the head."""
        return BoundaryLearner(build())

    def counts(self, batch: Batch) -> dict[str, int]:
        """The hidden positions, for both."""
        return {"mlm": len(batch.targets), "boundary": len(batch.targets)}

    def outcome(self, learner: BoundaryLearner, batch: Batch) -> Outcome:
        """Both cross-entropies at the hidden positions, over one pass of the encoder."""
        with states_kept(learner.model) as states:
            masked_loss = masked_lm_loss(learner.model, batch)
        guesses = boundary_guesses(learner, states[0], batch)
        return Outcome(
            {"mlm": masked_loss.loss, "boundary": guesses.losses.sum()},
            {"correct": masked_loss.correct, "boundary_correct": guesses.right.sum()},
        )

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many were restored by the best guess, either way."""
        return {
            "accuracy": tallies["correct"].item() / max(1.0, counts["mlm"]),
            "boundary_accuracy": tallies["boundary_correct"].item() / max(1.0, counts["boundary"]),
        }

    def masked_lm(self, learner: BoundaryLearner) -> PreTrainedModel:
        """The model without the head."""
        return learner.model

    def exports(self, learner: BoundaryLearner) -> dict[str, Export]:
        """The model, and the head's tensors beside it."""
        return {"model": Export(learner.model, {BOUNDARY: learner.boundary.state_dict()})}


def boundary_guesses(learner: BoundaryLearner, states: Tensor, batch: Batch) -> Guesses:
    """What the head makes of the edges of each hidden position's run.

    Documents open and close with tokens that are never hidden, so every run has both edges in its own document.
    """
    if batch.edges is None:
        raise ValueError("the policy names no edges of what it hides")
    width = batch.ids.shape[1]
    row, column = np.divmod(batch.predicted, width)
    around = row[:, None] * width + batch.edges
    before, targets = pad_predictions(around[:, 0], batch.targets, states.device)
    after, places = (
        pad_predictions(indices, batch.targets, states.device)[0]
        for indices in (around[:, 1], column - batch.edges[:, 0] - 1)
    )
    embeddings = learner.model.get_input_embeddings().weight
    assert isinstance(embeddings, Tensor)
    flat = states.flatten(0, 1)
    output = learner.boundary.states(flat[before], flat[after], places)
    return decode_states(output, embeddings, learner.boundary.bias, targets).first(len(batch.targets))
