"""Torch's attention as products of matrices, for training on CPUs.

In: queries, keys and values, B×H×L×D, and a mask. Out: what torch's attention gives, forward and backward.

Torch's own kernel goes through the heads one by one. Those of a sentence are so small that what surrounds their
products takes longer than the products; batched over all heads they take half to three quarters of the time, and so
few weights can be kept. With dropout torch has no kernel for CPUs: it computes step by step, keeps every step, and
draws one number after the other. In bfloat16 its kernel takes longer than in float32, and batched products take a
quarter of their time: so they are worth their weights in longer rows too. The softmax is in float32 always.
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
SHORT_IN_HALF = 512 * 512  # and in bfloat16, where it is the memory of the weights that ends it


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    dtype: torch.dtype = torch.float32,
    **others: Any,
) -> Tensor:
    """Torch's attention, by products where gradients are wanted and they take less time; those may be in bfloat16."""
    options: dict[str, Any] = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
    if not others and takes_products(query, key, value, attn_mask, dropout_p, dtype):
        return attend_by_products(query, key, value, attn_mask, **options, dtype=dtype)
    if query.dtype == dtype == torch.bfloat16:  # in which torch's takes longer
        query, key, value = query.float(), key.float(), value.float()
        attn_mask = attn_mask if attn_mask is None or attn_mask.dtype == torch.bool else attn_mask.float()
        made = F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask, **options, **others)
        return made.to(dtype)
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
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Torch's attention by products of a precision; the other options are those of torch's."""
    if is_causal:
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril_()
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    dropping = Dropping.draw(dropout_p) if dropout_p else None
    made = AttentionProducts.apply(query, key, value, as_bias(mask), scale, dropping, dtype)  # type: ignore[no-untyped-call]
    return cast(Tensor, made)


def takes_products(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    dtype: torch.dtype = torch.float32,
) -> bool:
    """Whether products of a precision take less time than torch's attention."""
    states, dtypes = (query, key, value), (torch.float32, dtype)
    fixed = mask is None or (type(mask) is Tensor and not mask.requires_grad)
    plain = all(each.dim() == 4 and each.dtype in dtypes and each.device.type == "cpu" for each in states)
    learning = torch.is_grad_enabled() and any(each.requires_grad for each in states)
    most = SHORT if dtype == torch.float32 else SHORT_IN_HALF
    short = dropout > 0 or query.shape[2] * key.shape[2] <= most
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


def attention_dtype() -> torch.dtype:
    """The precision of the products of attention on a CPU: bfloat16 where autocast asks for it."""
    halves = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    return torch.bfloat16 if halves else torch.float32


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
        dtype: torch.dtype,
    ) -> Tensor:
        """B×H×L×D of as much, in the precision of the products; the bias is B×H×L×L, or fewer that are repeated."""
        heads, given = query.shape[:2], query.dtype
        query, key, value = (_matrices(each, dtype) for each in (query, key, value))
        weights = _product(query, key.mT, scale).float()
        if bias is not None:
            weights.unflatten(0, heads).add_(bias)
        weights = torch.softmax(weights, -1)
        kept, saved = None, weights.to(dtype)
        dropped = saved
        if dropping is not None:
            kept = dropping.kept(weights.shape)
            dropped = dropping.factors(kept).mul_(weights).to(dtype)
        ctx.save_for_backward(query, key, value, saved, kept)
        ctx.heads, ctx.scale, ctx.dropping, ctx.given = heads, scale, dropping, given
        return cast(Tensor, torch.bmm(dropped, value).unflatten(0, heads))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Through the weights into queries, keys and values."""
        query, key, value, saved, kept = ctx.saved_tensors
        dtype, weights, gradient = saved.dtype, saved.float(), _matrices(gradient, saved.dtype)
        with torch.autocast("cpu", enabled=False):
            for_weights = torch.bmm(gradient, value.mT).float()
            dropped = saved
            if kept is not None:
                factors = ctx.dropping.factors(kept)
                for_weights.mul_(factors)
                dropped = factors.mul_(weights).to(dtype)
            for_value = torch.bmm(dropped.mT, gradient)
            torch.ops.aten._softmax_backward_data.out(for_weights, weights, -1, weights.dtype, grad_input=for_weights)
            for_products = for_weights.to(dtype)
            for_query, for_key = _product(for_products, key, ctx.scale), _product(for_products.mT, query, ctx.scale)
        states = (each.to(ctx.given).unflatten(0, ctx.heads) for each in (for_query, for_key, for_value))
        return *states, None, None, None, None


def _matrices(states: Tensor, dtype: torch.dtype) -> Tensor:
    """B×H×L×D as BH matrices, whole in memory."""
    return states.to(dtype, memory_format=torch.contiguous_format).contiguous().flatten(0, 1)


def _product(one: Tensor, other: Tensor, times: float) -> Tensor:
    """Of N matrices each."""
    return torch.baddbmm(one.new_empty(1, 1, 1), one, other, beta=0, alpha=times)
