"""ModernBERT's attention and gate with fewer passes over memory, for float32 on a CPU.

In: a model whose layers are transformers' own. Out: the same model, weights and results, whose layers take two shorter
ways. Products take most of a step at any size; what is left is reading and writing, and transformers, written for
compilers that fuse it, does a lot of that: turning queries and keys by their position makes ten tensors, and one
gradient for queries, keys and values is put together from three. Here each is one operation that works on a few rows
at a time, which the processor's cache holds, and writes its gradient where it belongs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import Module
from torch.nn import functional as F
from transformers.activations import GELUActivation
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.modernbert.modeling_modernbert import ModernBertAttention, ModernBertMLP

from unmask.models.cache import few_rows


def lighten(learner: Module) -> None:
    """Let the layers that have a shorter way take it."""
    for module in learner.modules():
        if type(module) is ModernBertAttention and module.config._attn_implementation == "sdpa":
            module.__class__ = Attention
        elif type(module) is ModernBertMLP and type(module.act) is GELUActivation and module.act.act is F.gelu:
            module.__class__ = Gate


class Attention(ModernBertAttention):
    """Transformers' attention, whose queries and keys are turned at once."""

    def forward(
        self,
        hidden_states: Tensor,
        position_embeddings: tuple[Tensor, Tensor] | None = None,
        attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """B×L×D states, and no weights of attention."""
        assert position_embeddings is not None
        projected = self.Wqkv(hidden_states).unflatten(-1, (3, -1, self.head_dim))
        query, key, value = Turned.apply(projected, *position_embeddings)
        found, weights = ALL_ATTENTION_FUNCTIONS["sdpa"](
            self,
            query,
            key,
            value,
            attention_mask,
            dropout=self.attention_dropout if self.training else 0.0,
            scaling=self.head_dim**-0.5,
            **kwargs,
        )
        return self.out_drop(self.Wo(found.flatten(-2))), weights


class Gate(ModernBertMLP):
    """Transformers' gated layer, whose gate is one operation."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        """B×L×D states."""
        made: Tensor = self.Wo(self.drop(Gated.apply(self.Wi(hidden_states))))
        return made


class Turned(Function):
    """Queries and keys turned by their positions (RoFormer, Su et al. 2021), values as they are.

    B L 3 H D ─▶ 3 × B H L D,   (a, b) ─▶ (a cos − b sin, b cos + a sin) for the two halves of D
    """

    @staticmethod
    def forward(ctx: Any, projected: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, ...]:
        """Cosines and sines are B×L×D or 1×L×D."""
        rows = len(projected)
        cos, sin = (each.expand(rows, -1, -1)[:, :, None] for each in (cos, sin))
        ctx.save_for_backward(cos, sin)
        turned = torch.empty_like(projected[:, :, :2], memory_format=torch.contiguous_format)
        for few in few_rows(projected[:, :, :2], cos[:, :, None], sin[:, :, None], turned):
            turn(*few)
        query, key, value = turned[:, :, 0], turned[:, :, 1], projected[:, :, 2]
        return query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The gradients turned back."""
        cos, sin = ctx.saved_tensors
        query, key, value = (gradient.transpose(1, 2) for gradient in gradients)
        rows, length, heads, width = value.shape
        found = value.new_empty(rows, length, 3, heads, width)
        for q, k, v, c, s, *into in few_rows(query, key, value, cos, -sin, *found.unbind(2)):
            turn(q, c, s, into[0])
            turn(k, c, s, into[1])
            into[2].copy_(v)
        return found, None, None


def turn(states: Tensor, cos: Tensor, sin: Tensor, into: Tensor) -> None:
    """Turn the halves of each vector, rounding as transformers does; `into` is where the result goes."""
    half = states.shape[-1] // 2
    torch.mul(states, cos, out=into)
    into[..., :half].sub_(states[..., half:] * sin[..., :half])
    into[..., half:].add_(states[..., :half] * sin[..., half:])


class Gated(Function):
    """GeGLU (Shazeer 2020): B L 2F ─▶ B L F,   (a, b) ─▶ GELU(a) b."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor) -> Tensor:
        """What passes the gate."""
        passed = projected.new_empty(*projected.shape[:-1], projected.shape[-1] // 2)
        opened = torch.empty_like(passed)
        for a, b, o, into in few_rows(*projected.chunk(2, dim=-1), opened, passed):
            torch.ops.aten.gelu.out(a, out=o)
            torch.mul(o, b, out=into)
        ctx.save_for_backward(projected, opened)
        return passed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Into both halves."""
        projected, opened = ctx.saved_tensors
        found = torch.empty_like(projected)
        for a, b, o, g, for_a, for_b in few_rows(
            *projected.chunk(2, dim=-1), opened, gradient, *found.chunk(2, dim=-1)
        ):
            torch.mul(o, g, out=for_b)
            torch.ops.aten.gelu_backward.grad_input(g * b, a, grad_input=for_a)
        return found
