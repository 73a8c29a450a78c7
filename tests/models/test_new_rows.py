"""New rows begin where their pieces are, and training that is told so leaves every old weight as it was, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from unmask.models.new_rows import add_rows, fitted_biases, train_only
from unmask.models.sparse import decoder_of


@pytest.mark.parametrize("family", ["bert", "modernbert", "electra"])
def test_rows_are_means_and_old_ones_stay_also_while_new_ones_learn(
    family: str, make_model: Callable[..., Path]
) -> None:
    model = AutoModelForMaskedLM.from_pretrained(make_model(family))
    size = model.config.vocab_size
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    counts = np.arange(size + 2)
    add_rows(model, size, [[10, 20], [30, 40, 50]], counts)
    table = model.get_input_embeddings().weight
    assert torch.equal(table[size], table[[10, 20]].mean(0))
    assert torch.equal(table[size + 1], table[[30, 40, 50]].mean(0))
    assert model.config.vocab_size == size + 2 == len(decoder_of(model).weight)
    begun = table.detach().clone()
    train_only(model, (), size)
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=0.1, weight_decay=0.0)
    for _ in range(3):
        ids = torch.tensor([[5, size, 7, size + 1, 9]])
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    for name, weight in model.named_parameters():
        assert torch.equal(weight[: len(before[name])], before[name]), name
    assert not torch.equal(table[size:], begun[size:])


def test_a_bias_follows_the_frequency_of_its_word_as_the_old_ones_do() -> None:
    counts = np.array([*range(1, 51), 7, 1000])
    bias = torch.from_numpy(0.5 * np.log(counts) - 3)
    assert fitted_biases(bias, 50, 2, counts) == pytest.approx(0.5 * np.log([7, 1000]) - 3)
    assert fitted_biases(bias, 50, 2, np.zeros(52, dtype=np.int64)) == pytest.approx([0.0, 0.0])
