"""RetroMAE: text restored twice, in place and, hidden far more, from its vector alone (Xiao et al. 2022).

Needs hidden tokens; 15 to 30 % of them in the paper. Once they are restored in place, as in masked language modelling.
Then a decoder of one layer restores the same text with half of its tokens hidden, from the tokens that are left and the
vector of the encoder's opening token: as the decoder is weak and sees little, the vector has to say what the text says,
which is what retrieval wants of it.

    loss = −(1/|M|) Σ_{i ∈ M} log P(x_i | corrupted x) − (1/|N|) Σ_{i ∈ N} log D(x_i | h, x without N)

M are the hidden positions, N half of the positions of text, drawn from the row's number, and h the opening token's last
state. The decoder's embeddings are the encoder's. Measures both. Exports the encoder, a masked language model; the
decoder has done its work.
"""

from __future__ import annotations

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
from unmask.objectives.vocabulary import Guesses, decode_states, pad_predictions
from unmask.randomness import Draws, Purpose
from unmask.records import Batch, Integers, PolicyProperties, Reals

DECODER_RATE = 0.5  # of the text is hidden from the decoder: 50 to 70 % in the paper
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
        self.mask = Parameter(torch.zeros(width))
        self.bias = Parameter(torch.zeros(vocabulary))
        torch.nn.init.normal_(self.place.weight, std=spread)
        torch.nn.init.normal_(self.mask, std=spread)

    def forward(self, tokens: Tensor, positions: Tensor, documents: Tensor) -> Tensor:
        """B L D states; tokens of one document see each other, and padding itself."""
        apart = documents[:, :, None] != documents[:, None, :]
        inputs = tokens + self.place(positions.clamp_max(PLACES - 1))
        states: Tensor = self.layer(inputs, src_mask=apart.repeat_interleave(self.heads, dim=0))
        return states


class RetroLearner(Module):
    """A masked language model and the decoder that shares its embeddings."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        config = model.config.get_text_config()
        table = model.get_input_embeddings().weight
        assert isinstance(table, Tensor)
        if table.shape[1] != config.hidden_size:
            raise BadInput("the objective retromae needs embeddings as wide as the layers; this model's are narrower")
        self.model = model
        self.decoder = VectorDecoder(config.hidden_size, len(table), getattr(config, "initializer_range", 0.02))


class RetroMAE(TextObjective[RetroLearner]):
    """Restore what is hidden in place, and half of the text from its vector."""

    name = "retromae"
    paper = "retrieval-oriented masked auto-encoder; RetroMAE, Xiao et al. 2022"
    usual = "token"
    families = MASKED_LMS
    terms: ClassVar = {"mlm": 1.0, "decoder": 1.0}
    tally_sizes: ClassVar = {"correct": 1, "decoder_correct": 1}
    held_out = True
    uses = ("unmask tune retrieve RUN TRAIN --out tuned",)

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Whatever hides in place."""
        return plainly_in_place(policy)

    def learner(self, build: Build) -> RetroLearner:
        """The model, and the decoder."""
        return RetroLearner(build())

    def counts(self, batch: Batch) -> dict[str, int]:
        """The hidden positions, and those that are hidden from the decoder."""
        return {"mlm": len(batch.targets), "decoder": len(decoder_positions(batch))}

    def outcome(self, learner: RetroLearner, batch: Batch) -> Outcome:
        """Both cross-entropies, over one pass of the encoder."""
        with states_kept(learner.model) as states:
            masked_loss = masked_lm_loss(learner.model, batch)
        guesses = decode_text(learner, states[0], batch)
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

    def masked_lm(self, learner: RetroLearner) -> PreTrainedModel:
        """The model without the decoder."""
        return learner.model

    def exports(self, learner: RetroLearner) -> dict[str, Export]:
        """The model."""
        return {"model": Export(learner.model)}


def decoder_positions(batch: Batch) -> Integers:
    """The flat positions that are hidden from the decoder, ascending: half of the text, by the numbers of the rows.

    Neither the tokens that open documents, whose place the vector takes, nor those that close them.
    """
    closing = np.diff(batch.documents, axis=1, append=0) != 0
    text = (batch.documents > 0) & (batch.positions > 0) & ~closing
    draws = Draws.of(0, 0, batch.numbers).grid(Purpose.FATE, batch.ids.shape[1])
    return np.flatnonzero(text & (draws < DECODER_RATE)).astype(np.int64)


def decode_text(learner: RetroLearner, states: Tensor, batch: Batch) -> Guesses:
    """What the decoder makes of the text that is hidden from it; of the encoder's states it sees the opening ones."""
    device, places = states.device, decoder_positions(batch)
    text = batch.ids.copy().reshape(-1)
    text[batch.predicted] = batch.targets
    table = learner.model.get_input_embeddings().weight
    assert isinstance(table, Tensor)
    positions, targets = pad_predictions(places, text[places], device)
    documents, nth = (torch.from_numpy(array).to(device) for array in (batch.documents, batch.positions))
    tokens = table[torch.from_numpy(text.reshape(batch.ids.shape)).to(device)]
    hidden = torch.zeros(batch.ids.size, dtype=torch.bool, device=device)
    hidden[torch.from_numpy(places).to(device)] = True
    tokens = torch.where(hidden.view(batch.ids.shape)[..., None], learner.decoder.mask, tokens)
    opening = (documents > 0) & (nth == 0)
    tokens = torch.where(opening[..., None], states.to(tokens.dtype), tokens)
    decoded = learner.decoder(tokens, nth, documents).flatten(0, 1)
    return decode_states(decoded[positions], table, learner.decoder.bias, targets).first(len(places))
