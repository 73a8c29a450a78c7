"""The loss of labels, against a computation written out; windows are averaged, micro-batches change nothing."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from unmask.objectives import row_outputs
from unmask.objectives.classification import Classification, text_logits
from unmask.task_batches import LabelledBatch


class Fixed(torch.nn.Module):
    """Says for each row what its first id is the number of."""

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


def test_a_long_text_that_is_computed_again_in_backward_has_the_same_gradients(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(make_model(), num_labels=2)  # with dropout
    draw = np.random.default_rng(0)
    ids = draw.integers(10, 200, size=(12, 16))
    long = LabelledBatch(
        ids=ids, real=np.ones_like(ids), types=None, owners=np.zeros(12, np.int64), targets=np.array([[1.0, 0.0]])
    )
    model.eval()  # parts have other dropout than the whole
    gradients = []
    for at_once in (10_000, 64):
        monkeypatch.setattr(row_outputs, "AT_ONCE", at_once)
        model.zero_grad()
        Classification().outcome(model, long).losses["labels"].backward()
        gradients.append(torch.cat([p.grad.ravel() for p in model.parameters() if p.grad is not None]))
    assert torch.allclose(*gradients, atol=1e-6) and gradients[0].abs().max() > 1e-3
