"""What a model says of rows, computed in parts of like length: little of a part is padding, and all of them fit.

In: a model and rows of tokens, padded at their ends. Out: what is taken of its answers, a row for each. The inside of
the first parts is kept for the backward pass; where it would be more than a fifth of the machine's memory, as with the
windows of long texts, that of the others but the last is computed again, to the same bits.
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

from unmask.objectives.objective import device_of
from unmask.records import Integers
from unmask.system_memory import own_memory_bytes
from unmask.tokens.bucket import batches_by_length, rounded_width

TOKENS = 16_384  # of a part at the most, padding among them, or one row
BYTES = 4_000_000_000  # and what the layers keep of it
FEWEST, PADDING = 4_096, 0.1  # from so many tokens on a part ends before so much of it would be padding
INSIDE = 68  # bytes kept of a token in a layer, for each number of its width, in float32
WEIGHTS = 5  # and for each head and token that it attends to, where attention has dropout
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
    head: int = 0,
) -> Tensor:
    """R … in float32: what `forward` makes of all rows, in parts of so many tokens at the most; arrays are R L.

    `head` is how many bytes are kept of a token outside the layers.
    """
    device = device_of(model)
    inputs = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
    tokens = min(tokens, BYTES // (token_bytes(model, rounded_width(int(lengths.max()))) + head))
    parts = list(batches_by_length(lengths, tokens=tokens, padding=PADDING, least=FEWEST))
    if len(parts) == 1:
        return forward(inputs).float()
    room = kept_bytes(device)
    made: list[Tensor] = []
    for numbers in parts:
        rows, width = torch.from_numpy(numbers).to(device), rounded_width(int(lengths[numbers].max()))
        part = {name: each[rows, :width] for name, each in inputs.items()}
        room -= len(rows) * width * (token_bytes(model, width) + head)
        is_last = len(made) == len(parts) - 1  # which the backward pass begins with: computed again it needs as much
        again = room < 0 and torch.is_grad_enabled() and not is_last
        made.append(checkpoint(forward, part, use_reentrant=False) if again else forward(part))
    places = np.argsort(np.concatenate(parts), kind="stable")
    return torch.cat(made).float()[torch.from_numpy(places).to(device)]


def kept_bytes(device: torch.device) -> int:
    """How much may be kept for the backward pass."""
    on_gpu = device.type == "cuda"
    return int(SHARE * (torch.cuda.get_device_properties(device).total_memory if on_gpu else own_memory_bytes()))


def token_bytes(model: PreTrainedModel, width: int) -> int:
    """What the layers keep of a token in a row of so many, at the most."""
    config = model.config.get_text_config()
    weights = WEIGHTS * int(config.num_attention_heads) * width
    return int(config.num_hidden_layers) * (INSIDE * int(config.hidden_size) + weights)
