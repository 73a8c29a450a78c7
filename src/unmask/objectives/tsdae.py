"""TSDAE: the whole text from the vector of what is left when most of its words are deleted (Wang et al. 2021).

Needs hidden tokens, which are restored in place as in masked language modelling: the paper leaves that out, and its
encoder forgets how to fill blanks. Besides, 60 % of the text is deleted, not hidden: what is left moves together, and
the encoder makes a vector of it. From that alone a decoder restores the text, from left to right
(`unmask.objectives.from_vector`; in the paper it has all layers of the encoder).

    loss = −(1/|M|) Σ_{i ∈ M} log P(x_i | corrupted x) − (1/n) Σ_i log D(x_i | h, x_1 … x_{i−1})

M are the hidden positions, h is the last state of the opening token over the 40 % that are left, drawn from the row's
number, and i runs over the n tokens that follow another of their document, closing ones too. Measures both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from unmask.models.heads import states_kept
from unmask.models.inputs import as_inputs
from unmask.models.sparse import states_at
from unmask.objectives.from_vector import FromVector, VectorLearner, apart, is_opening, is_text, original_ids
from unmask.objectives.vocabulary import Guesses, decode_states, pad_predictions
from unmask.randomness import Draws, Purpose
from unmask.records import Batch, Integers

DELETED = 0.6  # of the text
ROUND = 16  # columns: what is left has one of few widths


class TSDAE(FromVector):
    """Restore what is hidden in place, and the text from the vector of a part of it."""

    name = "tsdae"
    paper = "transformer-based sequential denoising auto-encoder; TSDAE, Wang et al. 2021"

    def restored(self, batch: Batch) -> Integers:
        """Every token that follows another of its document."""
        return np.flatnonzero((batch.documents > 0) & (batch.positions > 0)).astype(np.int64)

    def restore(self, learner: VectorLearner, states: Tensor, batch: Batch) -> Guesses:
        """The text as it was; the encoder reads what is left of it in a pass of its own."""
        device, places, text = states.device, self.restored(batch), original_ids(batch)
        positions, targets = pad_predictions(places - 1, text.reshape(-1)[places], device)
        ids, documents, nth = (torch.from_numpy(array).to(device) for array in (text, batch.documents, batch.positions))
        opening = torch.from_numpy(np.flatnonzero(is_opening(batch))).to(device)
        tokens = learner.table[ids].flatten(0, 1)
        tokens = tokens.index_copy(0, opening, vectors_of(learner, batch).to(tokens.dtype))
        later = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=device).triu(1)
        decoded = learner.decoder(tokens.view(*ids.shape, -1), nth, apart(documents) | later).flatten(0, 1)
        return decode_states(decoded[positions], learner.table, learner.decoder.bias, targets).first(len(places))


def vectors_of(learner: VectorLearner, batch: Batch) -> Tensor:
    """The opening tokens' states over what is left of the text, in the order of the documents."""
    short = shortened(batch, getattr(learner.model.config, "pad_token_id", None) or 0)
    opening = torch.from_numpy(np.flatnonzero(is_opening(short))).to(learner.model.device)
    with states_kept(learner.model) as states:  # a head for the opening tokens alone costs next to nothing
        states_at(learner.model, opening, **as_inputs(learner.model, short))
    return states[0].flatten(0, 1)[opening]


def shortened(batch: Batch, padding: int) -> Batch:
    """The text without the most of it: what is left moves together, what opens and closes documents stays."""
    draws = Draws.of(0, 0, batch.numbers).grid(Purpose.FATE, batch.ids.shape[1])
    kept = (batch.documents > 0) & ~(is_text(batch) & (draws < DELETED))
    width = min(batch.ids.shape[1], -(-int(kept.sum(axis=1).max()) // ROUND) * ROUND)
    order = np.argsort(~kept, axis=1, kind="stable")[:, :width]
    real = np.take_along_axis(kept, order, axis=1)
    ids = np.where(real, np.take_along_axis(original_ids(batch), order, axis=1), padding)
    documents = np.where(real, np.take_along_axis(batch.documents, order, axis=1), 0)
    begins = np.maximum.accumulate(np.where(np.diff(documents, axis=1, prepend=0) != 0, np.arange(width), 0), axis=1)
    nothing = np.zeros(0, dtype=np.int64)
    return replace(
        batch,
        ids=ids.astype(batch.ids.dtype),
        documents=documents.astype(batch.documents.dtype),
        positions=(np.arange(width) - begins).astype(batch.positions.dtype),
        predicted=nothing,
        targets=nothing,
        edges=None,
        order=None,
    )
