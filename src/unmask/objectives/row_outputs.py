"""What a model says of rows, computed in parts of like length: little of a part is padding, and all of them fit.

In: a model and rows of tokens, padded at their ends. Out: what is taken of its answers, a row for each. The inside of
the first parts is kept for the backward pass; where it would be more than a fifth of the machine's memory, as with the
windows of long texts, that of the others is computed again, to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from unmask.machine import own_memory_bytes
from unmask.objectives.objective import device_of
from unmask.records import Integers
from unmask.tokens.bucket import batches_by_length, rounded_width

TOKENS = 16_384  # of a part at the most, padding among them, or one row
FEWEST, PADDING = 4_096, 0.1  # from so many tokens on a part ends before so much of it would be padding
INSIDE = 185  # bytes of a token in a layer, for each number of its width: 7 GB for 4,096 tokens of a base-size model
SHARE = 0.2  # of the memory, for what is kept inside

Rows = dict[str, Tensor]


class RowBatch(Protocol):
    """Rows of tokens."""

    @property
    def ids(self) -> Integers:
        """R L."""
        ...

    @property
    def real(self) -> Integers:
        """R L: 1 where a token is."""
        ...

    @property
    def types(self) -> Integers | None:
        """R L, where the model is told."""
        ...


def row_outputs(model: PreTrainedModel, batch: RowBatch, pick: Callable[[Any], Tensor]) -> Tensor:
    """R … or R L …: what `pick` takes of the model's answer, in float32; behind a row's end it says nothing."""
    arrays = {"input_ids": batch.ids, "attention_mask": batch.real, "token_type_ids": batch.types}
    known = {name: array for name, array in arrays.items() if array is not None}
    width = batch.ids.shape[1]

    def forward(part: Rows) -> Tensor:
        made = pick(model(**part))
        return made if made.dim() == 2 else F.pad(made, (0, 0, 0, width - made.shape[1]))

    return in_parts(model, known, batch.real.sum(1), forward, tokens=TOKENS)


def in_parts(
    model: PreTrainedModel,
    arrays: Mapping[str, Integers],
    lengths: Integers,
    forward: Callable[[Rows], Tensor],
    *,
    tokens: int,
    kept: int | None = None,
) -> Tensor:
    """R … in float32: what `forward` makes of all rows, in parts of so many tokens at the most; arrays are R L.

    The inside of the first `kept` tokens is kept for the backward pass, by the size of the model where nobody says.
    """
    device = device_of(model)
    inputs = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
    parts = list(batches_by_length(lengths, tokens=tokens, padding=PADDING, least=FEWEST))
    if len(parts) == 1:
        return forward(inputs).float()
    room = kept_tokens(model) if kept is None else kept
    made = []
    for numbers in parts:
        rows, width = torch.from_numpy(numbers).to(device), rounded_width(int(lengths[numbers].max()))
        part = {name: each[rows, :width] for name, each in inputs.items()}
        room -= part["input_ids"].numel()
        again = room < 0 and torch.is_grad_enabled()
        made.append(checkpoint(forward, part, use_reentrant=False) if again else forward(part))
    places = np.argsort(np.concatenate(parts), kind="stable")
    return torch.cat(made).float()[torch.from_numpy(places).to(device)]


def kept_tokens(model: PreTrainedModel) -> int:
    """Tokens whose inside is kept for the backward pass: a small model has less in each, a large machine more room."""
    device, config = device_of(model), model.config.get_text_config()
    on_gpu = device.type == "cuda"
    memory = torch.cuda.get_device_properties(device).total_memory if on_gpu else own_memory_bytes()
    return int(SHARE * memory) // (INSIDE * int(config.num_hidden_layers) * int(config.hidden_size))
