"""ModernBERT's layers with fewer passes over memory, for CPUs.

In: a model whose layers are transformers' own. Out: the same model and weights, whose layers come to the same results,
rounding aside, by a shorter way. Products take most of a step at any size; what is left is reading and writing, and
transformers, written for compilers that fuse it, does a lot of that. Here

- a number and its partner, by which a position turns them, lie side by side, so that one product of complex numbers
  turns them in place: the rows of the matrix that makes them are put in that order, which is a small copy;
- the gate works on features × tokens instead of tokens × features: its two halves are whole pieces of memory then;
- the last product of each half of a layer is added onto the states as it is made;
- where only some positions are predicted, the last layer goes on after its attention with those alone: nothing else of
  what it would compute is looked at.

Where autocast asks for bfloat16, products and gates are computed in it, and of attention the products; positions,
softmax and sums in float32.

Transformers' classes are private and may change with any version. So the parameters and attributes that are relied on
are compared first, and a small model has to say the same both ways; else nothing is replaced.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import Module
from torch.nn import functional as F
from transformers import ModernBertConfig
from transformers.activations import GELUActivation
from transformers.models.modernbert.modeling_modernbert import (
    ModernBertAttention,
    ModernBertEncoderLayer,
    ModernBertMLP,
    ModernBertModel,
    ModernBertRotaryEmbedding,
)

from unmask.models.attention import attention
from unmask.models.attention_products import attention_dtype
from unmask.models.modernbert_rows import interleaved_rows


def replace_layers(learner: Module) -> str | None:
    """Let the layers that have a shorter way take it; what keeps them from it, in words."""
    for model in learner.modules():
        if type(model) is ModernBertModel and is_plain(model):
            if difference := layers_differ(model):
                return difference
            if not _agrees():
                return "a small model says something else"
            _replace(model)
    return None


class FusedLayer(ModernBertEncoderLayer):
    """Transformers' layer: attention and feed-forward add to the states themselves."""

    gathers_predicted = False  # whether its output is asked for at predicted positions alone

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_embeddings: tuple[Tensor, Tensor] | None = None,
        predicted: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """B×L×D states; of the last layer 1×P×D, where flat positions are given that are predicted."""
        normalised = self.attn_norm(hidden_states)
        kept = predicted if self.gathers_predicted else None
        states = self.attn(normalised, position_embeddings, attention_mask, hidden_states, kept, **kwargs)
        output: Tensor = self.mlp(self.mlp_norm(states), residual=states)
        return output


class LastFusedLayer(FusedLayer):
    """The layer after which the head comes."""

    gathers_predicted = True


class ComplexRotary(ModernBertRotaryEmbedding):
    """Transformers' rotary angles as complex numbers, and their conjugates, which turn back."""

    def forward(self, x: Tensor, position_ids: Tensor, layer_type: str) -> tuple[Tensor, Tensor]:
        """cos ± i sin, B×L×H×D/2 or 1×L×H×D/2: the same for each head, in memory too, which keeps loops long.

        Tokens share positions: each is computed once, and looked up.
        """
        positions = torch.arange(int(position_ids.max()) + 1)[None]
        cos, sin = (angles[0].chunk(2, dim=-1)[0] for angles in super().forward(x, positions, layer_type))
        table = torch.complex(cos, sin).unsqueeze(1).repeat(1, self.config.num_attention_heads, 1)
        indices, shape = position_ids.flatten(), position_ids.shape
        rotation, inverse = (
            turns.index_select(0, indices).unflatten(0, shape) for turns in (table, table.conj().resolve_conj())
        )
        return rotation, inverse


class FusedAttention(ModernBertAttention):
    """Transformers' attention, whose queries and keys are turned where they lie."""

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        position_embeddings: tuple[Tensor, Tensor],
        attention_mask: Tensor | None,
        residual: Tensor,
        predicted: Tensor | None,
        **kwargs: Any,
    ) -> Tensor:
        """B×L×D states, added onto others; 1×P×D where flat positions are given that alone are wanted."""
        query, key, value = RotaryQKV.apply(hidden_states, self.Wqkv.weight, *position_embeddings)  # type: ignore[no-untyped-call]
        dropout, dtype = self.attention_dropout if self.training else 0.0, attention_dtype()
        with torch.autocast("cpu", enabled=False):  # torch's attention takes longer in bfloat16
            context = attention(query, key, value, attention_mask, dropout_p=dropout, dtype=dtype)
            context = context.transpose(1, 2).contiguous()
        if predicted is not None:
            context, residual = (each.flatten(0, 1).index_select(0, predicted)[None] for each in (context, residual))
        if _drops(self.out_drop) or product_dtype() != torch.float32:
            output: Tensor = residual + self.out_drop(self.Wo(context.flatten(-2)))
            return output
        flat = context.flatten(2).flatten(0, 1)
        return torch.addmm(residual.flatten(0, 1), flat, self.Wo.weight.T).view_as(residual)


class FusedMLP(ModernBertMLP):
    """Transformers' gated feed-forward as one operation; with dropout, as it is."""

    def forward(self, hidden_states: Tensor, residual: Tensor) -> Tensor:  # type: ignore[override]
        """B×L×D states, added onto others."""
        if _drops(self.drop):
            return residual + super().forward(hidden_states)
        output: Tensor = FusedGeGLU.apply(hidden_states, self.Wi.weight, self.Wo.weight, residual)  # type: ignore[no-untyped-call]
        return output


@dataclass(frozen=True)
class Replacement:
    """A class of transformers, the one that takes its place, and what that relies on."""

    original: type[Module]
    fused: type[Module]
    parameters: tuple[str, ...]  # of the original's forward
    attributes: tuple[str, ...]  # of each instance


LAYER = Replacement(
    ModernBertEncoderLayer,
    FusedLayer,
    ("self", "hidden_states", "attention_mask", "position_embeddings", "kwargs"),
    ("attn_norm", "attn", "mlp_norm", "mlp"),
)
ROTARY = Replacement(ModernBertRotaryEmbedding, ComplexRotary, ("self", "x", "position_ids", "layer_type"), ("config",))
ATTENTION = Replacement(
    ModernBertAttention,
    FusedAttention,
    ("self", "hidden_states", "position_embeddings", "attention_mask", "kwargs"),
    ("Wqkv", "Wo", "out_drop", "head_dim", "attention_dropout"),
)
MLP = Replacement(ModernBertMLP, FusedMLP, ("self", "hidden_states"), ("Wi", "Wo", "act", "drop"))


def is_plain(model: ModernBertModel) -> bool:
    """Whether it is configured as is written here: torch's attention, exact gates, products without biases."""
    activations = [
        module.act for module in model.modules() if isinstance(module, ModernBertMLP) and hasattr(module, "act")
    ]
    exact = all(type(activation) is GELUActivation and activation.act is F.gelu for activation in activations)
    config = model.config
    biases = getattr(config, "attention_bias", False) or getattr(config, "mlp_bias", False)
    return exact and config._attn_implementation == "sdpa" and not biases


def layers_differ(model: ModernBertModel) -> str | None:
    """What of transformers' layers is not as is written here, in words."""
    for replacement in (LAYER, ROTARY, ATTENTION, MLP):
        names = tuple(inspect.signature(replacement.original.forward).parameters)
        if names != replacement.parameters:
            return f"{replacement.original.__name__}.forward takes {', '.join(names)}"
    try:
        for module, replacement in _replaceable(model):
            if lacks := [name for name in replacement.attributes if not hasattr(module, name)]:
                return f"{type(module).__name__} has no {lacks[0]}"
            if type(module) not in (replacement.original, replacement.fused, LastFusedLayer):
                return f"{type(module).__name__} is not {replacement.original.__name__}"
    except AttributeError as error:
        return str(error)
    return None


def _replace(model: ModernBertModel) -> None:
    for module, replacement in _replaceable(model):
        module.__class__ = replacement.fused
    model.layers[-1].__class__ = LastFusedLayer


def _replaceable(model: ModernBertModel) -> list[tuple[Any, Replacement]]:
    """The modules of a model for which there are others."""
    modules: list[tuple[Any, Replacement]] = [(model.rotary_emb, ROTARY)]
    for layer in model.layers:
        modules += [(layer, LAYER), (layer.attn, ATTENTION), (layer.mlp, MLP)]
    return modules


def small_model() -> ModernBertModel:
    """A model to compare two ways through; its weights are of torch's random numbers."""
    config = ModernBertConfig(
        vocab_size=24,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        layer_types=["full_attention", "sliding_attention"],
        local_attention=6,
        max_position_embeddings=24,
        initializer_range=0.5,  # wide, so that every part of a layer weighs in
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=0,
        cls_token_id=0,
        sep_token_id=0,
    )
    model: ModernBertModel = ModernBertModel._from_config(config, attn_implementation="sdpa").eval()
    return model


@cache
def _agrees() -> bool:
    """Whether a small model has the same states both ways: what no name tells. Takes some hundredths of a second."""
    with torch.random.fork_rng(), torch.no_grad(), torch.autocast("cpu", enabled=False):
        torch.manual_seed(0)
        model = small_model()
        ids, positions = torch.randint(1, 24, (2, 24)), torch.arange(24).remainder(13)[None]
        try:
            reference = model(input_ids=ids, position_ids=positions).last_hidden_state
            _replace(model)
            output = model(input_ids=ids, position_ids=positions).last_hidden_state
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
            return False
        return output.shape == reference.shape and torch.allclose(output, reference, rtol=1e-4, atol=1e-4)


def _drops(module: Module) -> bool:
    return module.training and getattr(module, "p", 0.0) > 0


def product_dtype() -> torch.dtype:
    """The precision that products are asked for in."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32


class RotaryQKV(Function):
    """Queries, keys and values, the first two turned by their positions (RoFormer, Su et al. 2021).

    x W ─▶ B L 3 H D ─▶ 3 × B H L D,   (a, b) ─▶ (a cos − b sin, b cos + a sin) = (a + ib)(cos + i sin)

    a lies in the first half of D and b in the second; here they lie side by side, in queries and keys alike, which
    leaves their products as they are.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, rotation: Tensor, inverse: Tensor) -> tuple[Tensor, ...]:
        """Of states, B×L×D."""
        heads, half = rotation.shape[2:]
        states = states.to(product_dtype())
        interleaved = weight.index_select(0, interleaved_rows(heads, half)[0]).to(states.dtype)
        qkv = (states @ interleaved.T).float().unflatten(-1, (3, heads, half, 2))
        torch.view_as_complex(qkv[:, :, :2]).mul_(rotation.unsqueeze(2))
        ctx.save_for_backward(states, interleaved, inverse)
        query, key, value = qkv.flatten(-2).transpose(1, 3).unbind(2)
        return query, key, value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients turned back and put together, then through the product."""
        states, interleaved, inverse = ctx.saved_tensors
        heads, half = inverse.shape[2:]
        qkv = gradients[0].new_empty(*states.shape[:2], 3, heads, half, 2)
        contiguous = (gradient if gradient.stride(-1) == 1 else gradient.contiguous() for gradient in gradients)
        query, key, value = (gradient.transpose(1, 2).unflatten(-1, (half, 2)) for gradient in contiguous)
        for nth, gradient in enumerate((query, key)):
            torch.mul(torch.view_as_complex(gradient), inverse, out=torch.view_as_complex(qkv[:, :, nth]))
        qkv[:, :, 2].copy_(value)
        flat = qkv.flatten(0, 1).flatten(1).to(states.dtype)
        for_weight = (flat.T @ states.flatten(0, 1)).float().index_select(0, interleaved_rows(heads, half)[1])
        return (flat @ interleaved).float().view_as(states), for_weight, None, None


class FusedGeGLU(Function):
    """A feed-forward layer with a gate, GeGLU (Shazeer 2020): (a, b) = x Wi ─▶ y + (GELU(a) b) Wo.

    a and b are features × tokens.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, inner: Tensor, outer: Tensor, residual: Tensor) -> Tensor:
        """Of states x, added onto y, both B×L×D."""
        flat, inner, outer = (tensor.to(product_dtype()) for tensor in (states.flatten(0, 1), inner, outer))
        halves = inner @ flat.T
        a, b = halves.chunk(2)
        gate = F.gelu(a)
        gated = gate * b
        ctx.save_for_backward(flat, inner, outer, halves, gate, gated)
        if flat.dtype != residual.dtype:
            return residual + (gated.T @ outer.T).view_as(residual)
        output = torch.empty_like(residual, memory_format=torch.contiguous_format)  # no view, FSDP would warn of it
        torch.addmm(residual.flatten(0, 1), gated.T, outer.T, out=output.flatten(0, 1))
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        """Into the states, both matrices and what they were added onto."""
        states, inner, outer, halves, gate, gated = ctx.saved_tensors
        flat = gradient.flatten(0, 1).to(states.dtype)
        for_gated = outer.T @ flat.T
        for_halves = torch.empty_like(halves)
        (a, b), (for_a, for_b) = halves.chunk(2), for_halves.chunk(2)
        torch.mul(gate, for_gated, out=for_b)
        torch.ops.aten.gelu_backward.grad_input(for_gated.mul_(b), a, grad_input=for_a)
        products = for_halves.T @ inner, for_halves @ states, gated @ flat
        for_states, for_inner, for_outer = (product.float() for product in products)
        return for_states.view_as(gradient), for_inner, for_outer.T, gradient
