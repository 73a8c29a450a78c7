"""Dropout that is drawn four numbers at a time is dropout: its share, its mean, its gradient, and the same twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from unmask.models.dropout import PARTS, DrawnDropout, Dropping, replace_dropout


def drawn(share: float) -> nn.Module:
    layers = nn.Sequential(nn.Dropout(share))
    replace_dropout(layers)
    assert type(layers[0]) is DrawnDropout
    return layers.train()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_as_many_are_dropped_as_are_asked_for_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(0)
    states = drawn(share)(torch.ones(1000, 1001))
    dropped = (states == 0).float()
    assert abs(dropped.mean() - share) < 0.002  # four standard errors
    assert states.unique().numel() == 2 and abs(states.mean() - 1) < 0.005
    assert (dropped.mean(0) - share).abs().max() < 0.09  # no place is favoured: six standard errors of a thousand
    assert (dropped[1:] * dropped[:-1]).mean() == pytest.approx(share**2, abs=0.002)  # nor do neighbours tell


def test_a_share_is_met_to_the_part() -> None:
    every = torch.Size([4, PARTS])
    sums = [(dropping := Dropping(0, parts)).factors(dropping.kept(every)).sum() for parts in (0, PARTS)]
    assert sums == [4 * PARTS, 0] and Dropping.draw(0.1).parts == 6554


def test_the_gradient_goes_where_something_was_kept() -> None:
    states = torch.ones(40, 50, requires_grad=True)
    output = drawn(0.4)(states)
    output.backward(torch.ones(40, 50))
    assert states.grad is not None and torch.equal(states.grad, output)


def test_the_same_random_state_drops_the_same_and_another_something_else() -> None:
    layers, outputs = drawn(0.5), []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        outputs.append([layers(torch.ones(100)) for _ in range(2)])
    assert torch.equal(outputs[0][0], outputs[1][0]) and torch.equal(outputs[0][1], outputs[1][1])
    assert not torch.equal(outputs[0][0], outputs[0][1]) and not torch.equal(outputs[0][0], outputs[2][0])


def test_what_is_computed_twice_drops_the_same() -> None:
    layers, states = drawn(0.5), torch.randn(1000, requires_grad=True)
    output = checkpoint(layers, states, use_reentrant=False)
    output.sum().backward()
    assert states.grad is not None and torch.equal(states.grad != 0, output != 0)


def test_in_use_nothing_is_dropped_and_no_number_drawn() -> None:
    states = torch.randn(10, 10)
    before = torch.get_rng_state()
    assert torch.equal(drawn(0.5).eval()(states), states) and torch.equal(drawn(0.0)(states), states)
    assert torch.equal(torch.get_rng_state(), before)


def test_in_half_precision_what_is_kept_is_enlarged_before_it_is_rounded() -> None:
    states = torch.linspace(1, 4, 1000).bfloat16().requires_grad_()
    output = drawn(0.1)(states)
    enlarged, coarser = (states.float() / 0.9).bfloat16(), states * torch.tensor(1 / 0.9).bfloat16()
    kept = output != 0
    assert output.dtype == torch.bfloat16 and torch.equal(output[kept], enlarged[kept])
    assert not torch.equal(output[kept], coarser[kept])
    output.float().sum().backward()
    assert states.grad is not None and states.grad.dtype == torch.bfloat16


def test_every_dropout_of_a_model_is_drawn_so(make: Callable[[str], PreTrainedModel]) -> None:
    model = make("bert")
    replace_dropout(model)
    assert not any(type(module) is nn.Dropout for module in model.modules())
