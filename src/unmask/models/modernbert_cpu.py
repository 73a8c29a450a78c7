"""ModernBERT's layers with fewer passes over memory, for CPUs.

In: a model whose layers are transformers' own. Out: the same model and weights, whose layers come to the same results,
rounding aside, by a shorter way. Products take most of a step at any size; what is left is reading and writing, and
transformers, written for compilers that fuse it, does a lot of that. Here

- a number and its partner, by which a position turns them, lie side by side, so that one product of complex numbers
  turns them in place: the rows of the matrix that makes them are put in that order, which is a small copy;
- the gate works on features × tokens instead of tokens × features: its two halves are whole pieces of memory then;
- the last product of each half of a layer is added onto the states as it is made.

Where autocast asks for bfloat16, products and gates are computed in it, positions, attention and sums in float32.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import Module
from torch.nn import functional as F
from transformers.activations import GELUActivation
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.modernbert.modeling_modernbert import (
    ModernBertAttention,
    ModernBertEncoderLayer,
    ModernBertMLP,
    ModernBertModel,
    ModernBertRotaryEmbedding,
)


def lighten(learner: Module) -> None:
    """Let the layers that have a shorter way take it."""
    for model in learner.modules():
        if type(model) is ModernBertModel and _is_plain(model):
            model.rotary_emb.__class__ = Turns
            for layer in model.layers:
                layer.__class__, layer.attn.__class__, layer.mlp.__class__ = Layer, Attention, Gate


def _is_plain(model: ModernBertModel) -> bool:
    """Whether its layers are what is written here: torch's attention, exact gates, products without biases."""
    config, activation = model.config, next(each.act for each in model.modules() if isinstance(each, ModernBertMLP))
    exact = type(activation) is GELUActivation and activation.act is F.gelu
    return exact and config._attn_implementation == "sdpa" and not config.attention_bias and not config.mlp_bias


class Layer(ModernBertEncoderLayer):
    """Transformers' layer: attention and gate add to the states themselves."""

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_embeddings: tuple[Tensor, Tensor] | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """B×L×D states."""
        normed = self.attn_norm(hidden_states)
        states = self.attn(normed, position_embeddings, attention_mask, onto=hidden_states, **kwargs)
        made: Tensor = self.mlp(self.mlp_norm(states), onto=states)
        return made


class Turns(ModernBertRotaryEmbedding):
    """Transformers' angles as complex numbers, and what turns back."""

    def forward(self, x: Tensor, position_ids: Tensor, layer_type: str) -> tuple[Tensor, Tensor]:
        """cos ± i sin, B×L×H×D/2 or 1×L×H×D/2: the same for each head, in memory too, which keeps loops long.

        Tokens share positions: each is computed once, and looked up.
        """
        places = torch.arange(int(position_ids.max()) + 1)[None]
        cos, sin = (each[0].chunk(2, dim=-1)[0] for each in super().forward(x, places, layer_type))
        forth = torch.complex(cos, sin).unsqueeze(1).repeat(1, self.config.num_attention_heads, 1)
        where, shape = position_ids.flatten(), position_ids.shape
        forth, back = (each.index_select(0, where).unflatten(0, shape) for each in (forth, forth.conj().resolve_conj()))
        return forth, back


class Attention(ModernBertAttention):
    """Transformers' attention, whose queries and keys are turned where they lie."""

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        position_embeddings: tuple[Tensor, Tensor],
        attention_mask: Tensor | None,
        onto: Tensor,
        **kwargs: Any,
    ) -> Tensor:
        """B×L×D states, added onto others."""
        query, key, value = Turned.apply(hidden_states, self.Wqkv.weight, *position_embeddings)
        with torch.autocast("cpu", enabled=False):  # torch's attention takes longer in bfloat16
            found, _ = ALL_ATTENTION_FUNCTIONS["sdpa"](
                self,
                query,
                key,
                value,
                attention_mask,
                dropout=self.attention_dropout if self.training else 0.0,
                scaling=self.head_dim**-0.5,
                **kwargs,
            )
        if _drops(self.out_drop) or asked_for() != torch.float32:
            made: Tensor = onto + self.out_drop(self.Wo(found.flatten(-2)))
            return made
        return torch.addmm(onto.flatten(0, 1), found.flatten(2).flatten(0, 1), self.Wo.weight.T).view_as(onto)


class Gate(ModernBertMLP):
    """Transformers' gated layer as one operation; with dropout, as it is."""

    def forward(self, hidden_states: Tensor, onto: Tensor) -> Tensor:  # type: ignore[override]
        """B×L×D states, added onto others."""
        if _drops(self.drop):
            return onto + super().forward(hidden_states)
        made: Tensor = Gated.apply(hidden_states, self.Wi.weight, self.Wo.weight, onto)
        return made


def _drops(module: Module) -> bool:
    return module.training and getattr(module, "p", 0.0) > 0


def asked_for() -> torch.dtype:
    """The precision that products are asked for in."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32


class Turned(Function):
    """Queries, keys and values, the first two turned by their positions (RoFormer, Su et al. 2021).

    x W ─▶ B L 3 H D ─▶ 3 × B H L D,   (a, b) ─▶ (a cos − b sin, b cos + a sin) = (a + ib)(cos + i sin)

    a lies in the first half of D and b in the second; here they lie side by side, in queries and keys alike, which
    leaves their products as they are.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, forth: Tensor, back: Tensor) -> tuple[Tensor, ...]:
        """Of states, B×L×D."""
        heads, half = forth.shape[2:]
        states = states.to(asked_for())
        paired = weight.index_select(0, side_by_side(heads, half)[0]).to(states.dtype)
        made = (states @ paired.T).float().unflatten(-1, (3, heads, half, 2))
        torch.view_as_complex(made[:, :, :2]).mul_(forth.unsqueeze(2))
        ctx.save_for_backward(states, paired, back)
        query, key, value = made.flatten(-2).transpose(1, 3).unbind(2)
        return query, key, value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients turned back and put together, then through the product."""
        states, paired, back = ctx.saved_tensors
        heads, half = back.shape[2:]
        made = gradients[0].new_empty(*states.shape[:2], 3, heads, half, 2)
        lying = (each if each.stride(-1) == 1 else each.contiguous() for each in gradients)
        query, key, value = (each.transpose(1, 2).unflatten(-1, (half, 2)) for each in lying)
        for nth, gradient in enumerate((query, key)):
            torch.mul(torch.view_as_complex(gradient), back, out=torch.view_as_complex(made[:, :, nth]))
        made[:, :, 2].copy_(value)
        flat = made.flatten(0, 1).flatten(1).to(states.dtype)
        for_weight = (flat.T @ states.flatten(0, 1)).float().index_select(0, side_by_side(heads, half)[1])
        return (flat @ paired).float().view_as(states), for_weight, None, None


@cache
def side_by_side(heads: int, half: int) -> tuple[Tensor, Tensor]:
    """The order of rows that brings partners of queries and keys together and leaves values, and the order back.

    >>> [each.tolist() for each in side_by_side(1, 2)]
    [[0, 2, 1, 3, 4, 6, 5, 7, 8, 9, 10, 11], [0, 2, 1, 3, 4, 6, 5, 7, 8, 9, 10, 11]]
    """
    order = torch.arange(3 * heads * 2 * half).view(3, heads, 2, half)
    order = torch.cat((order[:2].mT.flatten(), order[2].flatten()))
    return order, order.argsort()


class Gated(Function):
    """A layer with a gate, GeGLU (Shazeer 2020): (a, b) = x Wi ─▶ y + (GELU(a) b) Wo.

    a and b are features × tokens.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, inner: Tensor, outer: Tensor, onto: Tensor) -> Tensor:
        """Of states x, added onto y, both B×L×D."""
        flat, inner, outer = (each.to(asked_for()) for each in (states.flatten(0, 1), inner, outer))
        made = inner @ flat.T
        a, b = made.chunk(2)
        opened = F.gelu(a)
        passed = opened * b
        ctx.save_for_backward(flat, inner, outer, made, opened, passed)
        if flat.dtype != onto.dtype:
            return onto + (passed.T @ outer.T).view_as(onto)
        found = torch.empty_like(onto, memory_format=torch.contiguous_format)  # no view, which FSDP would warn of
        torch.addmm(onto.flatten(0, 1), passed.T, outer.T, out=found.flatten(0, 1))
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        """Into the states, both matrices and what they were added onto."""
        states, inner, outer, made, opened, passed = ctx.saved_tensors
        flat = gradient.flatten(0, 1).to(states.dtype)
        for_passed = outer.T @ flat.T
        for_made = torch.empty_like(made)
        (a, b), (for_a, for_b) = made.chunk(2), for_made.chunk(2)
        torch.mul(opened, for_passed, out=for_b)
        torch.ops.aten.gelu_backward.grad_input(for_passed.mul_(b), a, grad_input=for_a)
        into = for_made.T @ inner, for_made @ states, passed @ flat
        for_states, for_inner, for_outer = (each.float() for each in into)
        return for_states.view_as(gradient), for_inner, for_outer.T, gradient
