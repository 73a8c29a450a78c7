"""Rows for new words in a masked language model, and training that moves nothing else.

In: a model and, for each new word, the tokens that it consisted of. Out: the same model with a row more for each in its
embeddings and in its head; every old row is what it was, to the bit, also after training that is told so.

    embedding, tied output   the mean of the rows of its old pieces
    output bias              what a regression of the old biases on log-frequency says of its frequency: with the mean
                             of its pieces' biases a word loses to its own first piece
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter
from transformers import PreTrainedModel

from unmask.models.sparse import decoder_of
from unmask.records import Integers

FEWEST = 8  # old tokens that a regression is fitted to


@torch.no_grad()
def add_rows(model: PreTrainedModel, first: int, pieces: Sequence[Sequence[int]], counts: Integers) -> None:
    """Give a model rows from the id `first` on, one for each list of old ids; `counts` has how often text has each id.

    Some models have more rows than their tokenizer has tokens: those are taken first.
    """
    size = max(first + len(pieces), len(_embeddings(model)))
    model.resize_token_embeddings(size, mean_resizing=False)
    tables = {_embeddings(model), decoder_of(model).weight}  # one, where they are tied
    for number, old in enumerate(pieces, start=first):
        for table in tables:
            table[number] = table[list(old)].mean(0)
    bias = decoder_of(model).bias
    if bias is not None:
        bias[first : first + len(pieces)] = torch.from_numpy(fitted_biases(bias, first, len(pieces), counts)).to(bias)


def _embeddings(model: PreTrainedModel) -> Tensor:
    weight = model.get_input_embeddings().weight
    assert isinstance(weight, Tensor)
    return weight


def fitted_biases(bias: Tensor, first: int, new: int, counts: Integers) -> np.ndarray:
    """What biases new tokens have by their frequency, if it is with them as with the old ones."""
    known = np.flatnonzero(counts[:first])
    old = bias.detach().cpu().double().numpy()[known]
    if len(known) < FEWEST:
        return np.full(new, old.mean() if len(known) else 0.0)
    logs = np.log(counts[known])
    slope, level = np.polyfit(logs, old, 1) if np.ptp(logs) else (0.0, old.mean())
    return np.asarray(level + slope * np.log(np.maximum(1, counts[first : first + new])))


def train_only(model: PreTrainedModel, names: Iterable[str], first: int | None) -> None:
    """Let training move these weights, and of the rows of tokens those from the id `first` on; nothing else.

    The optimizer must not decay weights: rows without a gradient stay as they are then.
    """
    chosen = set(names)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in chosen)
    if first is None:
        return
    tables = {_embeddings(model), decoder_of(model).weight, decoder_of(model).bias}
    for name, parameter in model.named_parameters():
        if parameter in tables and name not in chosen:
            parameter.requires_grad_()
            _keep_rows(parameter, first)


def _keep_rows(parameter: Parameter, first: int) -> None:
    def clear(gradient: Tensor) -> Tensor:
        cleared = gradient.clone()
        cleared[:first] = 0
        return cleared

    parameter.register_hook(clear)
