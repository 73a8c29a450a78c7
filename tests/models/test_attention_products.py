"""Attention as products is torch's attention, forward and backward, under any mask; what is dropped is by law."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from unmask.models.attention_products import AttentionProducts, attention, takes_products
from unmask.models.dropout import Dropping

Mask = Tensor | None


def states(rows: int, heads: int, queries: int, keys: int, width: int = 8) -> list[Tensor]:
    """Queries, keys and values as layers make them: heads beside each other in memory."""
    random = torch.Generator().manual_seed(rows + 10 * queries + 1000 * keys)
    drawn = [torch.randn(rows, length, heads, width, generator=random) for length in (queries, keys, keys)]
    return [each.transpose(1, 2).requires_grad_() for each in drawn]


def passes(function: object, inputs: list[Tensor], mask: Mask, **options: Any) -> list[Tensor]:
    """What an attention gives, and the gradients of what it is given."""
    output = function(*inputs, attn_mask=mask, **options)  # type: ignore[operator]
    weights = torch.linspace(-1, 1, output.numel()).view(output.shape)
    return [output.detach(), *torch.autograd.grad((output * weights).sum(), inputs)]


def check_equal(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 40), st.integers(1, 40), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_it_is_torch_s_attention_under_any_mask(
    rows: int, heads: int, queries: int, keys: int, real: bool, shared: bool
) -> None:
    inputs = states(rows, heads, queries, keys)
    random = torch.Generator().manual_seed(queries)
    shape = (1 if shared else rows, 1, queries, keys)
    sees = torch.rand(shape, generator=random) < 0.6
    sees[..., 0] = True
    mask = torch.randn(shape, generator=random).masked_fill_(~sees, -torch.inf) if real else sees
    assert takes_products(*inputs, mask, 0.0)
    check_equal(passes(attention, inputs, mask), passes(F.scaled_dot_product_attention, inputs, mask))


@pytest.mark.parametrize("options", [{}, {"scale": 0.3}, {"is_causal": True}])
def test_it_is_torch_s_attention_without_one(options: dict[str, float | bool]) -> None:
    inputs = states(2, 3, 17, 17)
    ours = passes(attention, inputs, None, **options)
    check_equal(ours, passes(F.scaled_dot_product_attention, inputs, None, **options))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("length", [7, 64, 130])
def test_in_bfloat16_it_strays_half_as_far_again_as_torch_s_at_the_most(length: int, masked: bool) -> None:
    inputs = states(3, 2, length, length, width=16)
    mask = torch.rand(3, 1, length, length, generator=torch.Generator().manual_seed(1)) < 0.6 if masked else None
    if mask is not None:
        mask[..., 0] = True
    exact = passes(F.scaled_dot_product_attention, inputs, mask)
    halves = [each.detach().bfloat16().requires_grad_() for each in inputs]
    theirs = passes(F.scaled_dot_product_attention, halves, mask)
    for of in (inputs, halves):
        ours = passes(attention, of, mask, dtype=torch.bfloat16)
        assert ours[0].dtype == torch.bfloat16 and all(each.dtype == of[0].dtype for each in ours[1:])
        for one, other, reference in zip(ours, theirs, exact, strict=True):
            assert 1e-4 < strays(one, reference) < 1.5 * strays(other, reference)  # whose scores are not rounded


def strays(found: Tensor, exact: Tensor) -> float:
    return float((found.float() - exact).norm() / exact.norm())


def test_what_takes_no_products_is_torch_s_in_float32() -> None:
    halves = [each.detach().bfloat16().requires_grad_() for each in states(1, 1, 600, 600)]
    assert not takes_products(*halves, None, 0.0, torch.bfloat16)
    assert takes_products(*(each[:, :, :512] for each in halves), None, 0.0, torch.bfloat16)
    bias = torch.zeros(600, 600, dtype=torch.bfloat16).tril_()
    made = attention(*halves, bias, dtype=torch.bfloat16)
    expected = F.scaled_dot_product_attention(*(each.float() for each in halves), attn_mask=bias.float())
    assert torch.equal(made, expected.bfloat16())


def test_where_something_sees_nothing_it_is_torch_s() -> None:
    inputs, sees = states(1, 1, 3, 3), torch.tensor([[1, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=torch.bool)
    for mask in (sees, torch.zeros(3, 3).masked_fill_(~sees, -torch.inf)):
        assert not takes_products(*inputs, mask, 0.0) and takes_products(*inputs, mask[[0, 2, 0]], 0.0)


def test_long_rows_whatever_is_asked_and_what_is_learnt_of_a_bias_are_torch_s() -> None:
    inputs, bias = states(1, 2, 20, 20), torch.zeros(1, 2, 20, 20)
    assert takes_products(*inputs, bias, 0.0)
    assert not takes_products(*inputs, bias.clone().requires_grad_(), 0.0)
    with torch.no_grad():
        assert not takes_products(*inputs, None, 0.0)
    assert not takes_products(*(each.detach() for each in inputs), None, 0.0)
    assert not takes_products(*(each.bfloat16() for each in inputs), None, 0.0)
    assert not takes_products(inputs[0], inputs[1][:, :1], inputs[2][:, :1], None, 0.0)  # keys that heads share
    long = states(1, 1, 400, 400)
    assert not takes_products(*long, None, 0.0) and takes_products(*long, None, 0.1)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_as_many_weights_are_dropped_as_are_asked_for_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(0)
    query, key = (torch.zeros(4, 8, 100, 4, requires_grad=True) for _ in range(2))
    value = torch.eye(100).expand(4, 8, 100, 100)  # so that weights are what comes out
    weights = attention(query, key, value, dropout_p=share).detach()
    assert weights.unique().numel() == 2 and abs((weights == 0).float().mean() - share) < 0.005
    assert weights.sum(-1).mean() == pytest.approx(1, abs=0.01)


def test_gradients_with_dropout_are_those_of_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = states(2, 2, 9, 11)
    dropped = torch.rand(4, 9, 11, generator=torch.Generator().manual_seed(0)) < 0.25
    monkeypatch.setattr(Dropping, "kept", lambda *_: ~dropped)

    def formula(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask, dropout_p: float) -> Tensor:
        assert attn_mask is None
        weights = torch.softmax(query @ key.mT * 8**-0.5, -1)
        return weights.masked_fill(dropped.view(2, 2, 9, 11), 0) / (1 - dropout_p) @ value

    check_equal(passes(attention, inputs, None, dropout_p=0.25), passes(formula, inputs, None, dropout_p=0.25))


def test_it_is_what_its_name_says() -> None:
    names = [node.name() for node in _nodes(attention(*states(1, 1, 4, 4)).grad_fn)]
    assert any(AttentionProducts.__name__ in name for name in names)


def _nodes(node: object) -> list[torch.autograd.graph.Node]:
    assert isinstance(node, torch.autograd.graph.Node)
    return [node, *(each for child, _ in node.next_functions if child for each in _nodes(child))]
