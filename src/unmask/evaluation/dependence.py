"""What a model gains by knowing of each other what it predicts: hidden tokens one after another, and each on its own.

In: a model that can predict both ways (XLNet, MPNet) and held-out examples. Out: `Dependence`, three figures over the
same hidden tokens. On its own, a token is predicted from what is not hidden; one after another, from those before it in
a random order too. Nothing else differs: the same weights, the same tokens, none of them shown in any form before its
turn. So the difference is what the dependence between hidden tokens is worth to this model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from transformers import PreTrainedModel

from unmask.corruption.render import random_order
from unmask.intervals import mean_figure
from unmask.models.load import LoadedModel
from unmask.objectives.masked_permuted import predict_in_order
from unmask.objectives.permuted import all_at_once, predict_permuted
from unmask.objectives.vocabulary import Guesses
from unmask.progress import task
from unmask.randomness import Draws
from unmask.records import Batch
from unmask.results import Dependence
from unmask.tokens.held_out import HeldOut, HeldOutSet


@dataclass(frozen=True)
class OrderedPrediction:
    """How an architecture predicts along an order."""

    predict: Callable[[PreTrainedModel, Batch], Guesses]
    masks: bool  # whether a mask stands for what is hidden, instead of nothing


ORDERED = {
    "xlnet": OrderedPrediction(predict_permuted, masks=False),
    "mpnet": OrderedPrediction(predict_in_order, masks=True),
}


@torch.inference_mode()
def measure_dependence(lm: LoadedModel, examples: HeldOutSet, limit: int | None, tokens: int) -> Dependence | None:
    """The loss of every hidden token both ways; none where the model has one way only."""
    how = ORDERED.get(lm.model.config.model_type)
    if how is None:
        return None
    pieces, parts = examples.packing.pieces, []
    total = int(pieces.lengths.sum())
    with task("One after another", total=min(limit or total, total)) as step:
        for held_out in examples.batches(tokens, limit):
            batch = in_order(held_out, examples.seed, lm.vocabulary.mask if how.masks else None)
            losses = [how.predict(lm.model, each).losses.double().cpu().numpy() for each in (all_at_once(batch), batch)]
            parts.append((*losses, pieces.documents[batch.numbers[batch.predicted // batch.ids.shape[1]]]))
            step(int(pieces.lengths[batch.numbers].sum()))
    apart, ordered, documents = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Dependence(
        independent=mean_figure(apart, documents),
        dependent=mean_figure(ordered, documents),
        gain=mean_figure(apart - ordered, documents),
    )


def in_order(held_out: HeldOut, seed: int, mask: int | None) -> Batch:
    """The hidden tokens of examples in a random order, all of them masked, or there for those that may see them."""
    hidden, numbers = held_out.corrupted.hidden, held_out.blocks.numbers
    order = random_order(hidden, Draws.of(seed, held_out.blocks.epoch, numbers)).astype(np.int64)
    ids = held_out.blocks.ids.astype(np.int64)
    return replace(held_out.batch, ids=ids if mask is None else np.where(hidden, mask, ids), order=order)
