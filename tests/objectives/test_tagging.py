"""The loss of tags, against a computation written out; parts of a batch add up to the whole."""

from __future__ import annotations

from math import exp, log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig

from unmask.objectives.tagging import Tagging
from unmask.task_batches import TaggedBatch


class Fixed(torch.nn.Module):
    """Says of each token what its id is the number of."""

    config = BertConfig()

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        return SimpleNamespace(logits=self.table[input_ids])


def batch(size: int = 1) -> TaggedBatch:
    ids = np.array([[0, 1, 2], [2, 0, 1]] * size)
    return TaggedBatch(
        ids=ids,
        real=np.ones_like(ids),
        types=None,
        owners=np.arange(2 * size) // 2,
        rows=np.repeat(np.arange(2 * size), [2, 1] * size),
        columns=np.array([1, 2, 0] * size),
        targets=np.array([0, 0, 1] * size),
    )


def test_the_loss_is_cross_entropy_at_the_places_of_words() -> None:
    outcome = Tagging().outcome(Fixed(), batch())  # type: ignore[arg-type]
    expected = log(1 + exp(-2)) + log(1 + exp(1)) + log(1 + exp(-1))
    assert outcome.losses["tags"].item() == pytest.approx(expected)
    assert outcome.tallies["right"].item() == 2 and Tagging().counts(batch()) == {"tags": 3}


def test_the_parts_of_a_batch_are_the_batch() -> None:
    whole = batch(4)
    parts = list(whole.cut(3))
    assert sum(part.predictions for part in parts) == 12 and sum(part.tokens for part in parts) == 24
    losses = [Tagging().outcome(Fixed(), part).losses["tags"].item() for part in parts]  # type: ignore[arg-type]
    assert sum(losses) == pytest.approx(Tagging().outcome(Fixed(), whole).losses["tags"].item())  # type: ignore[arg-type]
    assert all(part.owners[0] == 0 for part in parts)
