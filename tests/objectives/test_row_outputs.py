"""Rows in parts of like length: what a model says of each, and what it learns, are those of all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    BertConfig,
    BertModel,
    PreTrainedModel,
)

from unmask.objectives import row_outputs as row_outputs_module
from unmask.objectives.row_outputs import TOKENS, kept_tokens, row_outputs
from unmask.objectives.text_vectors import mean_vectors, pooled_rows
from unmask.task_batches import TextBatch

LENGTHS = (30, 4, 17, 5, 32, 9, 28, 3, 12, 31)
WIDTH = 32


def rows() -> SimpleNamespace:
    """Rows of many lengths, padded to the longest."""
    real = (np.arange(WIDTH) < np.array(LENGTHS)[:, None]).astype(np.int64)
    ids = np.random.default_rng(0).integers(10, 200, size=real.shape) * real
    return SimpleNamespace(ids=ids, real=real, types=None)


def texts() -> TextBatch:
    """The same rows as the windows of five texts."""
    batch = rows()
    owners = np.array([0, 0, 1, 2, 2, 2, 3, 3, 4, 4])
    return TextBatch(ids=batch.ids, real=batch.real, counted=batch.real, owners=owners, texts=5)


def gradients(model: PreTrainedModel) -> Tensor:
    """Those of all weights, which are cleared."""
    found = torch.cat([p.grad.ravel() for p in model.parameters() if p.grad is not None])
    model.zero_grad()
    return found


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few rows, as large batches have them."""
    monkeypatch.setattr(row_outputs_module, "TOKENS", 64)
    monkeypatch.setattr(row_outputs_module, "FEWEST", 8)


def in_one(model: PreTrainedModel, batch: Any, pick: Callable[[Any], Tensor]) -> Tensor:
    """All rows in one forward pass, by transformers alone."""
    return pick(model(input_ids=torch.from_numpy(batch.ids), attention_mask=torch.from_numpy(batch.real)))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("kept", [0, 100, 10_000])
@pytest.mark.parametrize("auto", [AutoModelForSequenceClassification, AutoModelForTokenClassification])
def test_rows_in_parts_are_the_rows_and_have_the_same_gradients(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, auto: Any, kept: int
) -> None:
    model = auto.from_pretrained(make_model(), num_labels=2).eval()  # parts have other dropout than the whole
    monkeypatch.setattr(row_outputs_module, "kept_tokens", lambda _: kept)
    batch, weights = rows(), torch.randn(len(LENGTHS), WIDTH, 2, generator=torch.Generator().manual_seed(0))
    expected = in_one(model, batch, lambda answer: answer.logits)
    there = torch.from_numpy(batch.real).unsqueeze(2) if expected.dim() == 3 else torch.ones(1, 1)
    weights = weights if expected.dim() == 3 else weights[:, 0]
    (expected * there * weights).sum().backward()
    whole = gradients(model)
    made = row_outputs(model, batch, lambda answer: answer.logits)
    (made * there * weights).sum().backward()
    assert torch.allclose(made * there, expected * there, atol=1e-5)
    largest = whole.abs().max()
    assert largest > 1e-2 and (gradients(model) - whole).abs().max() < 1e-5 * largest


@pytest.mark.parametrize(("tokens", "kept"), [(64, 0), (64, None), (TOKENS, None)])
def test_vectors_of_parts_are_the_vectors(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tokens: int, kept: int | None
) -> None:
    monkeypatch.setattr(row_outputs_module, "FEWEST", 8)
    model, batch = AutoModel.from_pretrained(make_model()).eval(), texts()
    by_row = in_one(model, batch, lambda answer: answer.last_hidden_state.mul(torch.from_numpy(batch.real)[..., None]))
    expected = torch.zeros(5, by_row.shape[2]).index_add(0, torch.from_numpy(batch.owners), by_row.sum(1))
    made, owners = pooled_rows(
        model, batch, lambda out, counted: (out.last_hidden_state * counted[..., None]).sum(1), tokens=tokens, kept=kept
    )
    assert torch.allclose(torch.zeros_like(expected).index_add(0, owners, made), expected, atol=1e-4)
    counts = np.bincount(batch.owners, weights=batch.real.sum(1))
    means = expected / torch.from_numpy(counts).float().unsqueeze(1)
    assert torch.allclose(mean_vectors(model, batch), means, atol=1e-5)


@pytest.mark.usefixtures("small_parts")
def test_little_of_a_part_is_padding_and_what_is_not_kept_is_computed_twice(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(make_model(), num_labels=2).eval()
    seen: list[int] = []
    layer = model.base_model.encoder.layer[0]
    layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].shape[0] * given[0].shape[1]))
    row_outputs(model, rows(), lambda answer: answer.logits).sum().backward()
    assert sum(seen) < 1.2 * sum(LENGTHS) < len(LENGTHS) * WIDTH and max(seen) <= 64
    once = sum(seen)
    monkeypatch.setattr(row_outputs_module, "kept_tokens", lambda _: once // 2)
    seen.clear()
    row_outputs(model, rows(), lambda answer: answer.logits).sum().backward()
    assert 1.3 * once < sum(seen) < 1.9 * once
    with torch.no_grad():
        seen.clear()
        row_outputs(model, rows(), lambda answer: answer.logits)
    assert sum(seen) == once


def test_few_tokens_go_through_at_once_in_their_order(make_model: Callable[..., Path]) -> None:
    model, passes = AutoModelForSequenceClassification.from_pretrained(make_model(), num_labels=2).eval(), []
    model.register_forward_pre_hook(lambda _, __, given: passes.append(given["input_ids"].clone()), with_kwargs=True)
    row_outputs(model, rows(), lambda answer: answer.logits)
    assert len(passes) == 1 and np.array_equal(passes[0].numpy(), rows().ids)


def test_what_is_kept_changes_no_bit(make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_outputs_module, "TOKENS", 64)
    model, gradients = AutoModelForSequenceClassification.from_pretrained(make_model(), num_labels=2).train(), []
    for kept in (0, 100, 10_000):
        monkeypatch.setattr(row_outputs_module, "kept_tokens", lambda _, kept=kept: kept)
        torch.manual_seed(0)  # of dropout
        model.zero_grad()
        row_outputs(model, rows(), lambda answer: answer.logits).square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None])
    for others in gradients[1:]:
        assert all(torch.equal(one, other) for one, other in zip(gradients[0], others, strict=True))


def test_a_larger_model_keeps_the_inside_of_fewer_tokens_and_a_larger_machine_of_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def of(layers: int, width: int, memory: int) -> int:
        monkeypatch.setattr(row_outputs_module, "own_memory_bytes", lambda: memory)
        model = BertModel(
            BertConfig(vocab_size=8, num_hidden_layers=layers, hidden_size=width, num_attention_heads=1), False
        )
        return kept_tokens(model)

    assert of(2, 64, 2**30) == int(0.2 * 2**30) // (185 * 2 * 64)
    assert of(1, 64, 2**30) == pytest.approx(2 * of(2, 64, 2**30), abs=1) and of(2, 128, 2**30) < of(2, 64, 2**30)
    assert of(2, 64, 2**31) == pytest.approx(2 * of(2, 64, 2**30), abs=1)
