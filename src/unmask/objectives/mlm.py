"""Masked language modelling: restore the hidden tokens from both sides (Devlin et al. 2019).

Needs a `Batch` with hidden tokens. Measures how many were restored. Exports the model as it is.

    loss = −(1/|M|) Σ_{i ∈ M} log P(x_i | corrupted x),   M the hidden positions

The sum is returned, not the mean: whoever adds up micro-batches divides by the number of hidden tokens in all of
them, so that every hidden token weighs alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.models.inputs import as_inputs
from unmask.models.sparse import logits_at
from unmask.records import Batch

ROUND = 64
IGNORED = -100


@dataclass(frozen=True)
class Outcome:
    """A summed loss with what it was summed over."""

    loss: Tensor  # nats, summed over the predicted positions
    predicted: int
    correct: Tensor  # how many were restored by the best guess


def mlm(model: PreTrainedModel, batch: Batch) -> Outcome:
    """The summed loss over the hidden positions of a batch."""
    # oneDNN keeps a kernel for each shape it meets: a number of positions that differs with every step would fill
    # gigabytes with them, so the positions are filled up to a round number, and what fills them is ignored
    filling = -len(batch.targets) % ROUND
    predicted = F.pad(torch.from_numpy(batch.predicted), (0, filling)).to(model.device)
    targets = F.pad(torch.from_numpy(batch.targets), (0, filling), value=IGNORED).to(model.device)
    logits = logits_at(model, predicted, **as_inputs(model, batch)).float()
    correct = (logits.detach().argmax(-1) == targets).sum()
    loss = F.cross_entropy(logits, targets, reduction="sum", ignore_index=IGNORED)
    return Outcome(loss, len(batch.targets), correct)
