"""What a model says of rows, computed in parts where they are many, as those of a long text's windows can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from unmask.objectives.objective import device_of
from unmask.records import Integers

AT_ONCE = 16_384  # tokens in a forward pass whose inside is kept; of a longer batch it is computed again in backward


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
    """R …: what `pick` takes of the model's answer, in float32, for all rows."""
    device = device_of(model)
    arrays = {"input_ids": batch.ids, "attention_mask": batch.real, "token_type_ids": batch.types}
    inputs = {name: torch.from_numpy(array).to(device) for name, array in arrays.items() if array is not None}
    rows, width = batch.ids.shape
    at_once = max(1, AT_ONCE // width)

    def forward(part: dict[str, Tensor]) -> Tensor:
        return pick(model(**part))

    chunks = [
        {name: each[begin : begin + at_once] for name, each in inputs.items()} for begin in range(0, rows, at_once)
    ]
    again = len(chunks) > 1 and torch.is_grad_enabled()
    outputs = [checkpoint(forward, chunk, use_reentrant=False) if again else forward(chunk) for chunk in chunks]
    return torch.cat(outputs).float()
