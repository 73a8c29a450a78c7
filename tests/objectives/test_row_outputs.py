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

from unmask.models.kernels import use_cpu_kernels
from unmask.objectives import row_outputs as row_outputs_module
from unmask.objectives.row_outputs import SHARE, TOKENS, kept_bytes, row_outputs, token_bytes
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


def keep(monkeypatch: pytest.MonkeyPatch, tokens: int) -> None:
    """Let the inside of so many tokens be kept."""
    monkeypatch.setattr(row_outputs_module, "kept_bytes", lambda _: tokens)
    monkeypatch.setattr(row_outputs_module, "token_bytes", lambda *_: 1)


def counting_model(path: Path) -> tuple[PreTrainedModel, list[int]]:
    """A model, and how many tokens its first layer is given each time."""
    model, seen = AutoModelForSequenceClassification.from_pretrained(path, num_labels=2).eval(), []
    layer = model.base_model.encoder.layer[0]
    layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].shape[0] * given[0].shape[1]))
    return model, seen


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
    keep(monkeypatch, kept)
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


@pytest.mark.parametrize(("tokens", "kept"), [(64, 0), (64, 10_000), (TOKENS, 0)])
def test_vectors_of_parts_are_the_vectors(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tokens: int, kept: int
) -> None:
    monkeypatch.setattr(row_outputs_module, "FEWEST", 8)
    keep(monkeypatch, kept)
    model, batch = AutoModel.from_pretrained(make_model()).eval(), texts()
    by_row = in_one(model, batch, lambda answer: answer.last_hidden_state.mul(torch.from_numpy(batch.real)[..., None]))
    expected = torch.zeros(5, by_row.shape[2]).index_add(0, torch.from_numpy(batch.owners), by_row.sum(1))
    made, owners = pooled_rows(
        model, batch, lambda out, counted: (out.last_hidden_state * counted[..., None]).sum(1), tokens=tokens
    )
    assert torch.allclose(torch.zeros_like(expected).index_add(0, owners, made), expected, atol=1e-4)
    counts = np.bincount(batch.owners, weights=batch.real.sum(1))
    means = expected / torch.from_numpy(counts).float().unsqueeze(1)
    assert torch.allclose(mean_vectors(model, batch), means, atol=1e-5)


@pytest.mark.usefixtures("small_parts")
def test_little_of_a_part_is_padding_and_what_is_not_kept_is_computed_twice(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, seen = counting_model(make_model())
    row_outputs(model, rows(), lambda answer: answer.logits).sum().backward()
    assert sum(seen) < 1.2 * sum(LENGTHS) < len(LENGTHS) * WIDTH and max(seen) <= 64
    once = sum(seen)
    keep(monkeypatch, once // 2)
    seen.clear()
    row_outputs(model, rows(), lambda answer: answer.logits).sum().backward()
    assert 1.3 * once < sum(seen) < 1.9 * once
    with torch.no_grad():
        seen.clear()
        row_outputs(model, rows(), lambda answer: answer.logits)
    assert sum(seen) == once
    keep(monkeypatch, 0)  # the last part is not computed again, which would save nothing
    seen.clear()
    row_outputs(model, rows(), lambda answer: answer.logits).sum().backward()
    assert sum(seen) < 2 * once


def test_what_the_layers_keep_of_a_part_is_bounded(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, seen = counting_model(make_model())
    monkeypatch.setattr(row_outputs_module, "BYTES", 100 * token_bytes(model, WIDTH))
    row_outputs(model, rows(), lambda answer: answer.logits)
    assert len(seen) > 1 and max(seen) <= 100


def test_few_tokens_go_through_at_once_in_their_order(make_model: Callable[..., Path]) -> None:
    model, passes = AutoModelForSequenceClassification.from_pretrained(make_model(), num_labels=2).eval(), []
    model.register_forward_pre_hook(lambda _, __, given: passes.append(given["input_ids"].clone()), with_kwargs=True)
    row_outputs(model, rows(), lambda answer: answer.logits)
    assert len(passes) == 1 and np.array_equal(passes[0].numpy(), rows().ids)


@pytest.mark.usefixtures("small_parts")
def test_what_is_kept_changes_no_bit(make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    model, gradients = AutoModelForSequenceClassification.from_pretrained(make_model(), num_labels=2).train(), []
    for kept in (0, 100, 10_000):
        keep(monkeypatch, kept)
        torch.manual_seed(0)  # of dropout
        model.zero_grad()
        row_outputs(model, rows(), lambda answer: answer.logits).square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None])
    for others in gradients[1:]:
        assert all(torch.equal(one, other) for one, other in zip(gradients[0], others, strict=True))


@pytest.mark.parametrize("width", [32, 256])
def test_what_is_counted_of_a_token_is_what_the_layers_keep_of_it(width: int) -> None:
    size = {"vocab_size": 8, "hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 2}
    model = BertModel(BertConfig(**size, num_hidden_layers=6), add_pooling_layer=False).train()
    use_cpu_kernels(model)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved: dict[int, Tensor] = {}

    def save(tensor: Tensor) -> Tensor:
        saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        answer = model(input_ids=torch.ones(2, width, dtype=torch.long))
    assert answer.last_hidden_state.requires_grad
    kept = sum(tensor.untyped_storage().nbytes() for place, tensor in saved.items() if place not in own)
    assert kept / (2 * width) == pytest.approx(token_bytes(model, width), rel=0.05)


def test_a_part_of_the_memory_is_kept_at_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_outputs_module, "own_memory_bytes", lambda: 1000)
    assert kept_bytes(torch.device("cpu")) == int(1000 * SHARE)
