"""Text restored from its vector, beside masked tokens restored in place: what RetroMAE and TSDAE have in common.

In: a batch with hidden tokens. Out: two losses. A decoder of one layer is given the last state of the opening token,
the vector, and little else: as it is weak and sees little, the vector has to say what the text says, which is what
search wants of it. Its embeddings are the encoder's. What is exported is the encoder, a masked language model; the
decoder has done its work.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import Embedding, Module, Parameter, TransformerEncoderLayer
from transformers import PreTrainedModel

from unmask.errors import BadInput
from unmask.models.families.family import MASKED_LMS
from unmask.models.heads import states_kept
from unmask.objectives.mlm import masked_lm_loss, plainly_in_place
from unmask.objectives.objective import Outcome
from unmask.objectives.text import Build, Export, TextObjective
from unmask.objectives.vocabulary import Guesses
from unmask.records import Batch, Flags, Integers, PolicyProperties, Reals

HEAD_WIDTH = 64
PLACES = 2048  # beyond which the last is shared


class VectorDecoder(Module):
    """One layer that restores text from the vector of its opening token."""

    def __init__(self, width: int, vocabulary: int, spread: float = 0.02) -> None:
        super().__init__()
        self.heads = max(1, width // HEAD_WIDTH)
        self.layer = TransformerEncoderLayer(
            width, self.heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True
        )
        self.place = Embedding(PLACES, width)
        self.bias = Parameter(torch.zeros(vocabulary))
        torch.nn.init.normal_(self.place.weight, std=spread)

    def forward(self, tokens: Tensor, positions: Tensor, unseen: Tensor) -> Tensor:
        """B L D states; what a token does not see is true in B L L."""
        inputs = tokens + self.place(positions.clamp_max(PLACES - 1))
        states: Tensor = self.layer(inputs, src_mask=unseen.repeat_interleave(self.heads, dim=0))
        return states


class VectorLearner(Module):
    """A masked language model and the decoder that shares its embeddings."""

    def __init__(self, model: PreTrainedModel, objective: str) -> None:
        super().__init__()
        config = model.config.get_text_config()
        table = model.get_input_embeddings().weight
        assert isinstance(table, Tensor)
        if table.shape[1] != config.hidden_size:
            raise BadInput(
                f"the objective {objective} needs embeddings as wide as the layers; this model's are narrower"
            )
        self.model = model
        self.decoder = VectorDecoder(config.hidden_size, len(table), getattr(config, "initializer_range", 0.02))

    @property
    def table(self) -> Tensor:
        """V D, the vectors of tokens."""
        table = self.model.get_input_embeddings().weight
        assert isinstance(table, Tensor)
        return table


class FromVector(TextObjective[VectorLearner]):
    """Restore what is hidden in place, and text from its vector."""

    usual = "token"
    families = MASKED_LMS
    terms: ClassVar = {"mlm": 1.0, "decoder": 1.0}
    tally_sizes: ClassVar = {"correct": 1, "decoder_correct": 1}
    held_out = True
    uses = ("unmask tune retrieve RUN TRAIN --out tuned",)

    @abstractmethod
    def restored(self, batch: Batch) -> Integers:
        """The flat positions of what is restored from the vector, ascending."""

    @abstractmethod
    def restore(self, learner: VectorLearner, states: Tensor, batch: Batch) -> Guesses:
        """What the decoder makes of it; `states` are the encoder's of the batch as it is, B×L×D."""

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Whatever hides in place."""
        return plainly_in_place(policy)

    def learner(self, build: Build) -> VectorLearner:
        """The model, and the decoder."""
        return VectorLearner(build(), self.name)

    def counts(self, batch: Batch) -> dict[str, int]:
        """The hidden positions, and those that the decoder restores."""
        return {"mlm": len(batch.targets), "decoder": len(self.restored(batch))}

    def outcome(self, learner: VectorLearner, batch: Batch) -> Outcome:
        """Both cross-entropies."""
        with states_kept(learner.model) as states:
            masked_loss = masked_lm_loss(learner.model, batch)
        guesses = self.restore(learner, states[0], batch)
        return Outcome(
            {"mlm": masked_loss.loss, "decoder": guesses.losses.sum()},
            {"correct": masked_loss.correct, "decoder_correct": guesses.right.sum()},
        )

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many were restored by the best guess, either way."""
        return {
            "accuracy": tallies["correct"].item() / max(1.0, counts["mlm"]),
            "decoder_accuracy": tallies["decoder_correct"].item() / max(1.0, counts["decoder"]),
        }

    def masked_lm(self, learner: VectorLearner) -> PreTrainedModel:
        """The model without the decoder."""
        return learner.model

    def exports(self, learner: VectorLearner) -> dict[str, Export]:
        """The model."""
        return {"model": Export(learner.model)}


def original_ids(batch: Batch) -> Integers:
    """B L: the text as it was before something was hidden."""
    ids = batch.ids.copy().reshape(-1)
    ids[batch.predicted] = batch.targets
    return ids.reshape(batch.ids.shape)


def is_opening(batch: Batch) -> Flags:
    """B L: the tokens that open documents, whose states are their vectors."""
    opening: Flags = (batch.documents > 0) & (batch.positions == 0)
    return opening


def is_text(batch: Batch) -> Flags:
    """B L: the tokens between those that open documents and those that close them."""
    closing = np.diff(batch.documents, axis=1, append=0) != 0
    text: Flags = (batch.documents > 0) & (batch.positions > 0) & ~closing
    return text


def apart(documents: Tensor) -> Tensor:
    """B L L: the tokens of other documents; padding is with itself."""
    return documents[:, :, None] != documents[:, None, :]
