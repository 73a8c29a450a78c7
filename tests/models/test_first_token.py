"""Classifiers that read the first token give the same logits and gradients when the rest is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import Module
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedModel

from unmask.models.first_token import AFTER_ATTENTION, leave_out_unread
from unmask.models.kernels import use_cpu_kernels
from unmask.models.layers import layers_of

IDS = torch.randint(5, 200, (3, 20), generator=torch.Generator().manual_seed(1))
SIZES = {"vocab_size": 211, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_labels": 3}
OTHERS: dict[str, dict[str, Any]] = {
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {"relative_attention": True, "conv_kernel_size": 3},
    "distilbert": {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4},
    "modernbert": {"classifier_pooling": "mean"},
}
SPECIALS = {f"{name}_token_id": number for number, name in enumerate(("pad", "bos", "eos", "cls", "sep"))}


def classifier(family: str, **changes: int) -> PreTrainedModel:
    config = AutoConfig.for_model(
        family, **{**SIZES, **SPECIALS, "intermediate_size": 48, **OTHERS.get(family, {}), **changes}
    )
    torch.manual_seed(0)
    model: PreTrainedModel = AutoModelForSequenceClassification.from_config(config).eval()
    return model


def answer(model: PreTrainedModel) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and the gradient of a function of them for every weight that has one."""
    mask = (torch.arange(20) < torch.tensor([[20], [13], [1]])).long()
    logits = model(input_ids=IDS, attention_mask=mask).logits
    logits.square().sum().backward()
    return logits.detach(), {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


def tokens_behind_attention(model: PreTrainedModel) -> list[int]:
    """How many tokens of a row the feed-forward part of each layer is given."""
    seen: list[int] = []

    def note(_part: Module, states: tuple[Tensor, ...]) -> None:
        seen.append(states[0].shape[1])

    names = ("intermediate", "ffn", "mlp")
    for layer in layers_of(model.base_model):
        part = next(getattr(layer, name) for name in names if hasattr(layer, name))
        part.register_forward_pre_hook(note)
    answer(model)
    return seen


@pytest.mark.parametrize("family", AFTER_ATTENTION)
def test_logits_and_gradients_are_those_of_the_whole(family: str) -> None:
    whole, short = classifier(family), classifier(family)
    leave_out_unread(short)
    (logits, gradients), (found, by_name) = answer(whole), answer(short)
    torch.testing.assert_close(found, logits, rtol=0, atol=1e-6)
    assert by_name.keys() == gradients.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(by_name[name], gradient, rtol=0, atol=1e-6, msg=name)
    assert tokens_behind_attention(short) == [20, 1]


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_whatever_the_attention(implementation: str) -> None:
    whole, short = classifier("bert"), classifier("bert")
    leave_out_unread(short)
    for model in (whole, short):
        model.set_attn_implementation(implementation)
    torch.testing.assert_close(answer(short)[0], answer(whole)[0], rtol=0, atol=1e-6)


def test_with_kernels_for_cpus_and_dropout_gradients_are_finite_and_the_same_seed_the_same() -> None:
    model = classifier("bert").train()
    leave_out_unread(model)
    use_cpu_kernels(model)
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        model.zero_grad()
        found.append(answer(model))
    assert torch.equal(found[0][0], found[1][0]) and not torch.equal(found[0][0], found[2][0])
    assert all(torch.isfinite(each).all() for each in found[2][1].values())


def test_one_token_asks() -> None:
    model = classifier("roberta")
    leave_out_unread(model)
    asked: list[int] = []
    for layer in layers_of(model.base_model):
        query = layer.get_submodule("attention.self.query")
        query.register_forward_pre_hook(lambda _, states: asked.append(states[0].shape[1]))
    answer(model)
    assert asked == [20, 1]


def test_heads_that_read_every_token_are_given_every_token(make: Callable[[str], PreTrainedModel]) -> None:
    mean = classifier("modernbert")
    masked = make("bert")
    for model in (mean, masked):
        leave_out_unread(model)
        assert set(tokens_behind_attention(model)) == {20}


def test_a_single_layer_is_left_whole() -> None:
    model = classifier("deberta-v2", num_hidden_layers=1)
    leave_out_unread(model)
    assert tokens_behind_attention(model) == [20]
