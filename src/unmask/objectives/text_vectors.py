"""Texts to vectors with gradients: the mean over the tokens of a text, long or short.

In: an encoder of transformers and a batch of texts. Out: T D, the mean over all tokens of all windows of a text, those
that open and close it among them; each token counts once, as `unmask embed` has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from unmask.objectives.objective import device_of
from unmask.task_batches import TextBatch

AT_ONCE = 16_384  # tokens in a forward pass whose inside is kept; of a longer batch it is computed again in backward

Pool = Callable[[Any, Tensor], Tensor]  # what a model gave and which tokens count, R L, to a row for each


def mean_vectors(model: PreTrainedModel, batch: TextBatch) -> Tensor:
    """T D: the mean over the tokens of each text, in float32."""
    sums, owners = pooled_rows(model, batch, _sum_of_tokens)
    whole = sums.new_zeros(batch.texts, sums.shape[1]).index_add(0, owners, sums)
    counts = torch.from_numpy(batch.counted.sum(1)).to(sums.device, sums.dtype)
    return whole / counts.new_zeros(batch.texts).index_add(0, owners, counts).clamp(min=1).unsqueeze(1)


def pooled_rows(model: PreTrainedModel, batch: TextBatch, pool: Pool, at_once: int = AT_ONCE) -> tuple[Tensor, Tensor]:
    """R K in float32, what `pool` makes of each row, and R, the text each row is of; long batches in several passes."""
    device = device_of(model)
    arrays = {"input_ids": batch.ids, "attention_mask": batch.real}
    inputs = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
    counted = torch.from_numpy(batch.counted).to(device)
    rows, width = batch.ids.shape
    size = max(1, at_once // width)

    def forward(part: dict[str, Tensor], tokens: Tensor) -> Tensor:
        return pool(model(**part), tokens)

    chunks = [
        ({name: each[begin : begin + size] for name, each in inputs.items()}, counted[begin : begin + size])
        for begin in range(0, rows, size)
    ]
    again = len(chunks) > 1 and torch.is_grad_enabled()
    made = [checkpoint(forward, *chunk, use_reentrant=False) if again else forward(*chunk) for chunk in chunks]
    return torch.cat(made).float(), torch.from_numpy(batch.owners).to(device)


def _sum_of_tokens(output: Any, counted: Tensor) -> Tensor:
    vectors: Tensor = output.last_hidden_state.float()
    return (vectors * counted.unsqueeze(2)).sum(1)
