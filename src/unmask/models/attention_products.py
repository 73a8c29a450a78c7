"""Torch's attention as products of matrices, for training on CPUs: where rows are short, and where weights are dropped.

In: queries, keys and values, B×H×L×D, and a mask. Out: what torch's attention gives, forward and backward.

Torch's own kernel goes through the heads one by one. Those of a sentence are so small that what surrounds their
products takes longer than the products; batched over all heads they take half to three quarters of the time, and so
few weights can be kept. With dropout torch has no kernel for CPUs: it computes step by step, keeps every step, and
draws one number after the other.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from unmask.models.dropout import Dropping

SHORT = 64 * 64  # pairs of tokens up to which products take less time than torch's kernel


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **others: Any,
) -> Tensor:
    """Torch's attention, by products where gradients are wanted and they take less time."""
    options: dict[str, Any] = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
    if not others and takes_products(query, key, value, attn_mask, dropout_p):
        return attend_by_products(query, key, value, attn_mask, **options)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask, **options, **others)


def attend_by_products(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """Torch's attention by products; the options are those of torch's."""
    if is_causal:
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril_()
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    dropping = Dropping.draw(dropout_p) if dropout_p else None
    return cast(Tensor, AttentionProducts.apply(query, key, value, as_bias(mask), scale, dropping))  # type: ignore[no-untyped-call]


def takes_products(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> bool:
    """Whether products take less time than torch's attention."""
    states = (query, key, value)
    fixed = mask is None or (type(mask) is Tensor and not mask.requires_grad)
    plain = all(each.dim() == 4 and each.dtype == torch.float32 and each.device.type == "cpu" for each in states)
    learning = torch.is_grad_enabled() and any(each.requires_grad for each in states)
    short = dropout > 0 or query.shape[2] * key.shape[2] <= SHORT
    fits = fixed and plain and learning and short and query.shape[:2] == key.shape[:2]
    return fits and (mask is None or sees_something(mask))


def sees_something(mask: Tensor) -> bool:
    """Whether each query sees a key: of nothing torch's attention is 0, and a softmax is none."""
    sees = mask if mask.dtype == torch.bool else mask > -torch.inf
    return bool(sees.any(-1).all())


def as_bias(mask: Tensor | None) -> Tensor | None:
    """What is added to the products: of a mask of truths 0 and, where nothing is seen, the lowest number.

    >>> as_bias(torch.tensor([True, False])).tolist()[0], as_bias(torch.tensor([0.5])).item(), as_bias(None)
    (0.0, 0.5, None)
    """
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape).masked_fill_(~mask, torch.finfo(torch.float32).min)


class AttentionProducts(Function):
    """softmax(Q Kᵀ scale + bias) V, of whose weights a share is dropped (Vaswani et al. 2017)."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        scale: float,
        dropping: Dropping | None,
    ) -> Tensor:
        """B×H×L×D of as much; the bias is B×H×L×L, or fewer that are repeated."""
        heads = query.shape[:2]
        query, key, value = (each.contiguous().flatten(0, 1) for each in (query, key, value))
        weights = _product(query, key.mT, scale)
        if bias is not None:
            weights.unflatten(0, heads).add_(bias)
        torch.softmax(weights, -1, out=weights)
        kept, dropped = None, weights
        if dropping is not None:
            kept = dropping.kept(weights.shape)
            dropped = dropping.factors(kept).mul_(weights)
        ctx.save_for_backward(query, key, value, weights, kept)
        ctx.heads, ctx.scale, ctx.dropping = heads, scale, dropping
        return cast(Tensor, torch.bmm(dropped, value).unflatten(0, heads))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Through the weights into queries, keys and values."""
        query, key, value, weights, kept = ctx.saved_tensors
        gradient = gradient.contiguous().flatten(0, 1)
        with torch.autocast("cpu", enabled=False):
            for_weights = torch.bmm(gradient, value.mT)
            dropped = weights
            if kept is not None:
                factors = ctx.dropping.factors(kept)
                for_weights.mul_(factors)
                dropped = factors.mul_(weights)
            for_value = torch.bmm(dropped.mT, gradient)
            torch.ops.aten._softmax_backward_data.out(for_weights, weights, -1, weights.dtype, grad_input=for_weights)
            for_query, for_key = _product(for_weights, key, ctx.scale), _product(for_weights.mT, query, ctx.scale)
        states = (each.unflatten(0, ctx.heads) for each in (for_query, for_key, for_value))
        return *states, None, None, None


def _product(one: Tensor, other: Tensor, times: float) -> Tensor:
    """Of N matrices each."""
    return torch.baddbmm(one.new_empty(1, 1, 1), one, other, beta=0, alpha=times)
