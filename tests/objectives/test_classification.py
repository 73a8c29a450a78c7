"""The loss of labels, against a computation written out; windows are averaged, micro-batches change nothing."""

from __future__ import annotations

from math import exp, log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig

from unmask.objectives.classification import Classification, text_logits
from unmask.task_batches import LabelledBatch


class Fixed(torch.nn.Module):
    """Says for each row what its first id is the number of."""

    config = BertConfig()

    def __init__(self, logits: list[list[float]]) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.tensor(logits))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        return SimpleNamespace(logits=self.table[input_ids[:, 0]])


def batch(rows: list[int], owners: list[int], targets: list[list[float]]) -> LabelledBatch:
    ids = np.array([[row, 0] for row in rows])
    return LabelledBatch(
        ids=ids, real=np.ones_like(ids), types=None, owners=np.array(owners), targets=np.array(targets, dtype=float)
    )


LOGITS = [[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]]


def test_a_text_has_the_mean_of_its_windows_logits() -> None:
    logits = text_logits(Fixed(LOGITS), batch([0, 1, 2], [0, 1, 1], [[1, 0], [0, 1]]))
    assert logits.tolist() == [[2.0, 0.0], [0.0, 2.0]]


def test_one_label_is_cross_entropy_weighted_by_class() -> None:
    made = batch([0, 1], [0, 1], [[1, 0], [1, 0]])
    expected = log(1 + exp(-2)) + log(1 + exp(1))
    outcome = Classification().outcome(Fixed(LOGITS), made)
    assert outcome.losses["labels"].item() == pytest.approx(expected)
    assert outcome.tallies["right"].item() == 1 and Classification().counts(made) == {"labels": 2}
    weighted = Classification(weights=(3.0, 1.0)).outcome(Fixed(LOGITS), made)
    assert weighted.losses["labels"].item() == pytest.approx(3 * expected)


def test_several_labels_are_a_decision_each() -> None:
    made = batch([0], [0], [[1, 1]])
    outcome = Classification(several=True).outcome(Fixed(LOGITS), made)
    assert outcome.losses["labels"].item() == pytest.approx(log(1 + exp(-2)) + log(2))
    assert Classification(several=True).counts(made) == {"labels": 2}
