"""Texts to vectors with gradients: the mean over the tokens of a text, long or short.

In: an encoder of transformers and a batch of texts. Out: T D, the mean over all tokens of all windows of a text, those
that open and close it among them; each token counts once, as `unmask embed` has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from unmask.objectives.row_outputs import TOKENS, Rows, in_parts
from unmask.task_batches import TextBatch

Pool = Callable[[Any, Tensor], Tensor]  # what a model gave and which tokens count, R L, to a row for each


def mean_vectors(model: PreTrainedModel, batch: TextBatch) -> Tensor:
    """T D: the mean over the tokens of each text, in float32."""
    sums, owners = pooled_rows(model, batch, _sum_of_tokens)
    whole = sums.new_zeros(batch.texts, sums.shape[1]).index_add(0, owners, sums)
    counts = torch.from_numpy(batch.counted.sum(1)).to(sums.device, sums.dtype)
    return whole / counts.new_zeros(batch.texts).index_add(0, owners, counts).clamp(min=1).unsqueeze(1)


def pooled_rows(
    model: PreTrainedModel, batch: TextBatch, pool: Pool, *, tokens: int = TOKENS, head: int = 0
) -> tuple[Tensor, Tensor]:
    """R K in float32, what `pool` makes of each row, and R, the text each row is of."""
    arrays = {"input_ids": batch.ids, "attention_mask": batch.real, "counted": batch.counted}

    def forward(part: Rows) -> Tensor:
        answer = model(input_ids=part["input_ids"], attention_mask=part["attention_mask"])
        return pool(answer, part["counted"])

    made = in_parts(model, arrays, batch.real.sum(1), forward, tokens=tokens, head=head)
    return made, torch.from_numpy(batch.owners).to(made.device)


def _sum_of_tokens(output: Any, counted: Tensor) -> Tensor:
    vectors: Tensor = output.last_hidden_state.float()
    return (vectors * counted.unsqueeze(2)).sum(1)
