"""Masked and permuted language modelling: one token after another, all places in sight (MPNet, Song et al. 2020).

Needs hidden tokens, and the order in which they are predicted. Masked tokens are guessed without knowing of each other;
permuted ones know those before them, and nothing of those to come, not even that they are there. Here what is predicted
sees what is not hidden, the tokens before it in the order, and a mask at the place of every other.

    loss = −(1/|M|) Σ_{i ∈ M} log P(x_i | x_j : z_j < z_i,  masks at j : z_j ≥ z_i),   z the order, 0 for what is shown

A row is its text, then what is shown of the hidden tokens, then as many queries, each at its place in the text. Who
knows the first t tokens of the order sees those, and the masks of all others; nobody sees a query:

    text of order z    t = z          all of it, but for what comes later in the order
    what is shown      t = 0          masks as a masked language model has them
    a query for z      t = z − 1      what a prediction is made from

So the first of an order, and any that is alone, is predicted as the stock model restores a masked token: what is
exported is a masked language model, measured on the same fixed masks as others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from unmask.models.families.architectures import architecture
from unmask.models.inputs import additive_mask, learned_positions
from unmask.models.mpnet_streams import standing_at
from unmask.objectives.objective import Outcome
from unmask.objectives.permuted import pad_columns, slots_of
from unmask.objectives.text import ModelObjective
from unmask.objectives.vocabulary import Guesses, predict_tokens
from unmask.records import Batch, Integers, PolicyProperties, Reals


class MaskedPermutationLM(ModelObjective):
    """Restore masked tokens one after the other."""

    name = "masked-permuted"
    also = ("mpnet",)
    paper = "masked and permuted language modelling; MPNet, Song et al. 2020"
    usual = "masked-permutation"
    families = frozenset({"mpnet"})
    terms: ClassVar = {"masked_permuted": 1.0}
    tally_sizes: ClassVar = {"correct": 1}

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Tokens that are hidden in place, and predicted in an order."""
        return policy.ordered and policy.in_place

    def counts(self, batch: Batch) -> dict[str, int]:
        """The hidden positions."""
        return {"masked_permuted": len(batch.targets)}

    def outcome(self, learner: PreTrainedModel, batch: Batch) -> Outcome:
        """Cross-entropy at the hidden positions, each from what it may know."""
        guesses = predict_in_order(learner, batch)
        return Outcome({"masked_permuted": guesses.losses.sum()}, {"correct": guesses.right.sum()})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many were restored by the best guess."""
        return {"accuracy": tallies["correct"].item() / max(1.0, counts["masked_permuted"])}

    def masked_lm(self, learner: PreTrainedModel) -> PreTrainedModel | None:
        """The model itself."""
        return learner


def predict_in_order(model: PreTrainedModel, batch: Batch) -> Guesses:
    """What came of each hidden token of a batch, predicted along the batch's order."""
    slots, inputs, places = three_parts(model, batch)
    with standing_at(model, places):
        return predict_tokens(model, slots, batch.targets, **inputs)


def three_parts(model: PreTrainedModel, batch: Batch) -> tuple[Integers, dict[str, Any], Tensor]:
    """P: where each prediction comes out; the model's keyword arguments; B T: where each of its inputs stands.

    A row of L tokens with room for M predictions is T = L + 2M long: text, what is shown, queries.
    """
    if batch.order is None:
        raise ValueError("the policy names no order in which tokens are predicted")
    device, padding = model.device, architecture(model.config.model_type).padding
    assert padding is not None  # MPNet's own
    slots, asked = slots_of(batch)
    original = batch.ids.copy().reshape(-1)
    original[batch.predicted] = batch.targets
    rows = (original.reshape(batch.ids.shape), batch.ids, batch.positions, batch.documents, batch.order)
    text, shown, positions, documents, order = (pad_columns(row, device) for row in rows)

    queries = torch.from_numpy(asked).to(device)  # B M, the column of each; -1 where there is room for more
    columns = queries.clamp_min(0)
    masks, rank = shown.gather(1, columns), order.gather(1, columns)
    asking = documents.gather(1, columns).where(queries >= 0, 0)
    places = torch.cat((torch.arange(text.shape[1], device=device).expand_as(text), columns, columns), dim=1)
    seen = who_sees_whom(order, documents, rank, asking)
    inputs = {
        "input_ids": torch.cat((text, masks, masks), dim=1),
        "position_ids": learned_positions(text, positions, padding).gather(1, places),
        "attention_mask": additive_mask(seen, model.dtype)[:, None],
    }
    row, slot = np.divmod(slots, asked.shape[1])
    return row * places.shape[1] + places.shape[1] - asked.shape[1] + slot, inputs, places


def who_sees_whom(order: Tensor, documents: Tensor, rank: Tensor, asking: Tensor) -> Tensor:
    """B T T: whether the input of a line sees that of a column: the order of B L texts, and the rank of B M queries.

    For a row of the order 0 2 1, of which the last two are hidden; in the end how many of the order each knows:

                  text    shown   queries
                  0 2 1   2 1     2 1
        text  0   # . .   # #     . .         0
              2   # # #   . .     . .         2
              1   # . #   # .     . .         1
        shown 2   # . .   # #     . .         0
              1   # . .   # #     . .         0
        query 2   # . #   # .     . .         1
              1   # . .   # #     . .         0

    Another document is never seen: positions start again and distances stay when a document moves, so that a packed one
    has the predictions that it has alone.
    """
    known = torch.cat((order, torch.zeros_like(rank), rank - 1), dim=1)[:, :, None]
    here = torch.cat((documents, asking, asking), dim=1)[:, :, None]
    text = (order[:, None, :] <= known) & (documents[:, None, :] == here)
    shown = (rank[:, None, :] > known) & (asking[:, None, :] == here)
    return torch.cat((text, shown, torch.zeros_like(shown)), dim=2)
