"""Permutation language modelling: tokens restored one after the other, in a random order (XLNet, Yang et al. 2019).

Needs every token shown, and the order in which some of them are predicted. What is predicted sees what is not, and
what came before it in the order: unlike masked tokens, predicted ones know of each other. Measures how many were
right. Exports the model as it is.

    loss = −(1/|M|) Σ_{i ∈ M} log P(x_i | x_j : z_j < z_i),   z the order, 0 for what is not predicted, M the rest

Two streams run through the same weights: content, which sees a token itself, and queries, which know only its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.objectives.objective import Outcome, device_of
from unmask.objectives.text import Card, ModelObjective
from unmask.objectives.vocabulary import Guesses, predict_tokens
from unmask.records import Batch, Integers, PolicyProperties, Reals

COLUMNS = 16  # rows, and the predictions of a row, are filled up to a multiple of it so that shapes are few

CARD = Card(
    what="A permutation language model",
    pipeline="feature-extraction",
    example="""\
from transformers import AutoTokenizer, XLNetLMHeadModel

model, tokenizer = XLNetLMHeadModel.from_pretrained("."), AutoTokenizer.from_pretrained(".")
ids = tokenizer("The text has a [MASK] in it.", return_tensors="pt").input_ids
gap = (ids == tokenizer.mask_token_id).float()[:, None, :]
unseen = gap.expand(-1, ids.shape[1], -1)  # nobody sees the gap
logits = model(ids, perm_mask=unseen, target_mapping=gap).logits[0, 0]
print(tokenizer.decode(logits.topk(5).indices))""",
)


class PermutationLM(ModelObjective):
    """Restore tokens in a random order."""

    name = "permuted"
    also = ("plm",)
    paper = "permutation language modelling, PLM; XLNet, Yang et al. 2019"
    usual = "permutation"
    families = frozenset({"xlnet"})
    terms: ClassVar = {"permuted": 1.0}
    tally_sizes: ClassVar = {"correct": 1}
    card = CARD

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Tokens that are all shown, and predicted in an order."""
        return policy.ordered and not policy.in_place

    def counts(self, batch: Batch) -> dict[str, int]:
        """The predicted positions."""
        return {"permuted": len(batch.targets)}

    def outcome(self, learner: PreTrainedModel, batch: Batch) -> Outcome:
        """Cross-entropy at the predicted positions."""
        guesses = predict_permuted(learner, batch)
        return Outcome({"permuted": guesses.losses.sum()}, {"correct": guesses.right.sum()})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many were restored by the best guess."""
        return {"accuracy": tallies["correct"].item() / max(1.0, counts["permuted"])}


def predict_permuted(model: PreTrainedModel, batch: Batch) -> Guesses:
    """What came of each predicted token of a batch, along the batch's order."""
    slots, places = slots_of(batch)
    return predict_tokens(model, slots, batch.targets, **two_streams(batch, places, device_of(model)))


def all_at_once(batch: Batch) -> Batch:
    """The same with no order in it: what is predicted is all first, and sees no other that is."""
    order = np.zeros(batch.ids.size, dtype=np.int64)
    order[batch.predicted] = 1
    return replace(batch, order=order.reshape(batch.ids.shape))


def slots_of(batch: Batch) -> tuple[Integers, Integers]:
    """P: where each prediction comes out, flat in B × M, and B M: the column it is for, -1 where there is none.

    Every row has room for M predictions, as many as the fullest has, rounded up.
    """
    rows, width = batch.ids.shape
    row, column = np.divmod(batch.predicted, width)
    sizes = np.bincount(row, minlength=rows)
    room = int(sizes.max(initial=1))
    room += -room % COLUMNS
    slots = row * room + np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
    places = np.full(rows * room, -1)
    places[slots] = column
    return slots, places.reshape(rows, room)


def two_streams(batch: Batch, places: Integers, device: torch.device) -> dict[str, Any]:
    """The model's keyword arguments: who is not seen by whom, made on the device, and where queries stand.

    For a row of the order 0 2 0 1, whom a query does not see (content sees itself besides):

           0 2 0 1
        0  . # . #
        2  . # . .
        0  . # . #
        1  . # . #

    Another document is never seen, nor is padding: relative positions stay when a document moves, so that a packed
    one has the predictions that it has alone.
    """
    if batch.order is None:
        raise ValueError("the policy names no order in which tokens are predicted")
    ids, order, documents = (pad_columns(array, device) for array in (batch.ids, batch.order, batch.documents))
    later = (order[:, None, :] > 0) & (order[:, None, :] >= order[:, :, None])
    apart = documents[:, None, :] != documents[:, :, None]
    columns = torch.arange(ids.shape[1], device=device)
    return {
        "input_ids": ids,
        "perm_mask": (later | apart).float(),
        "target_mapping": (torch.from_numpy(places).to(device)[:, :, None] == columns).float(),
        "use_mems": False,
    }


def pad_columns(rows: Integers, device: torch.device) -> Tensor:
    """Rows on a device, filled up with zeros to a multiple of `COLUMNS`."""
    return F.pad(torch.from_numpy(rows).to(device), (0, -rows.shape[1] % COLUMNS))
