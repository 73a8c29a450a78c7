"""RetroMAE: text restored twice, in place and, hidden far more, from its vector alone (Xiao et al. 2022).

Needs hidden tokens; 15 to 30 % of them in the paper. Once they are restored in place, as in masked language modelling.
Then a decoder of one layer restores the same text with half of its tokens hidden, from the tokens that are left and the
vector of the encoder's opening token (`unmask.objectives.from_vector`).

    loss = −(1/|M|) Σ_{i ∈ M} log P(x_i | corrupted x) − (1/|N|) Σ_{i ∈ N} log D(x_i | h, x without N)

M are the hidden positions, N half of the positions of text, drawn from the row's number, and h the opening token's last
state. Measures both.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter
from transformers import PreTrainedModel

from unmask.objectives.from_vector import FromVector, VectorLearner, apart, is_opening, is_text, original_ids
from unmask.objectives.text import Build
from unmask.objectives.vocabulary import Guesses, decode_states, pad_predictions
from unmask.randomness import Draws, Purpose
from unmask.records import Batch, Integers

DECODER_RATE = 0.5  # of the text is hidden from the decoder: 50 to 70 % in the paper


class RetroLearner(VectorLearner):
    """With what the decoder is given for a hidden token."""

    def __init__(self, model: PreTrainedModel, objective: str) -> None:
        super().__init__(model, objective)
        self.mask = Parameter(torch.zeros(model.config.get_text_config().hidden_size))
        torch.nn.init.normal_(self.mask, std=getattr(model.config, "initializer_range", 0.02))


class RetroMAE(FromVector):
    """Restore what is hidden in place, and half of the text from its vector."""

    name = "retromae"
    paper = "retrieval-oriented masked auto-encoder; RetroMAE, Xiao et al. 2022"

    def learner(self, build: Build) -> RetroLearner:
        """The model, and the decoder."""
        return RetroLearner(build(), self.name)

    def restored(self, batch: Batch) -> Integers:
        """Half of the text, by the numbers of the rows."""
        draws = Draws.of(0, 0, batch.numbers).grid(Purpose.FATE, batch.ids.shape[1])
        return np.flatnonzero(is_text(batch) & (draws < DECODER_RATE)).astype(np.int64)

    def restore(self, learner: VectorLearner, states: Tensor, batch: Batch) -> Guesses:
        """What is hidden from the decoder; of the encoder's states it sees the opening ones."""
        assert isinstance(learner, RetroLearner)
        device, places, text = states.device, self.restored(batch), original_ids(batch)
        positions, targets = pad_predictions(places, text.reshape(-1)[places], device)
        ids, documents, nth, opening = (
            torch.from_numpy(array).to(device) for array in (text, batch.documents, batch.positions, is_opening(batch))
        )
        hidden = torch.zeros(batch.ids.size, dtype=torch.bool, device=device)
        hidden[torch.from_numpy(places).to(device)] = True
        tokens = torch.where(hidden.view(batch.ids.shape)[..., None], learner.mask, learner.table[ids])
        tokens = torch.where(opening[..., None], states.to(tokens.dtype), tokens)
        decoded = learner.decoder(tokens, nth, apart(documents)).flatten(0, 1)
        return decode_states(decoded[positions], learner.table, learner.decoder.bias, targets).first(len(places))
