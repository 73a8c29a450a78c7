"""The shape of a ModernBERT by its settings: what its layers are, and which tensors its files hold.

In: what `config.json` says. Out: a `ModernBertShape`, or none where a model is not as `unmask.models.modernbert_rows`
computes it: exact gates, products without biases, positions that turn by plain angles. Light: no transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

KINDS = ("full_attention", "sliding_attention")
PLAIN = {  # settings, and what they have to be; what a file leaves out is so
    "hidden_activation": "gelu",
    "classifier_activation": "gelu",
    "attention_bias": False,
    "mlp_bias": False,
    "classifier_bias": False,
}
SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "local_attention",
    "vocab_size",
    "max_position_embeddings",
)


class ModernBertShape(NamedTuple):
    """What tells one ModernBERT from another, weights aside."""

    width: int
    heads: int
    kinds: tuple[str, ...]  # of attention, by layer
    window: int  # tokens on each side that a layer with sliding attention sees
    bases: dict[str, float]  # of the angles that positions turn by, for each kind
    eps: float

    @property
    def half(self) -> int:
        """Pairs of features in a head, which positions turn."""
        return self.width // self.heads // 2

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> ModernBertShape | None:
        """The shape that settings describe; none where they describe something else, or not all of it."""
        plain = all(settings.get(name, value) == value for name, value in PLAIN.items())
        sized = all(_is_size(settings.get(name)) for name in SIZES)
        if settings.get("model_type") != "modernbert" or not plain or not sized:
            return None
        width, heads = settings["hidden_size"], settings["num_attention_heads"]
        kinds, bases = settings.get("layer_types"), _bases(settings.get("rope_parameters"))
        eps = settings.get("norm_eps")
        if not isinstance(kinds, list) or len(kinds) != settings["num_hidden_layers"] or not set(kinds) <= set(KINDS):
            return None
        if bases is None or not isinstance(eps, float) or width % (2 * heads):
            return None
        return cls(width, heads, tuple(kinds), settings["local_attention"] // 2, bases, eps)

    def tensors(self, settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """The tensors of a ModernBertForMaskedLM of this shape, by name."""
        width, inner, tokens = self.width, settings["intermediate_size"], settings["vocab_size"]
        norms = ["model.embeddings.norm", "model.final_norm", "head.norm"]
        shapes: dict[str, tuple[int, ...]] = {
            "model.embeddings.tok_embeddings.weight": (tokens, width),
            "head.dense.weight": (width, width),
        }
        for number in range(len(self.kinds)):
            layer = f"model.layers.{number}"
            norms += [f"{layer}.attn_norm"] * (number > 0) + [f"{layer}.mlp_norm"]
            shapes |= {f"{layer}.attn.Wqkv.weight": (3 * width, width), f"{layer}.attn.Wo.weight": (width, width)}
            shapes |= {f"{layer}.mlp.Wi.weight": (2 * inner, width), f"{layer}.mlp.Wo.weight": (width, inner)}
        parts = ["weight"] + ["bias"] * bool(settings.get("norm_bias", False))
        shapes |= {f"{norm}.{part}": (width,) for norm in norms for part in parts}
        if not settings.get("tie_word_embeddings", True):
            shapes["decoder.weight"] = (tokens, width)
        if settings.get("decoder_bias", True):
            shapes["decoder.bias"] = (tokens,)
        return shapes


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _bases(given: object) -> dict[str, float] | None:
    """The base of the angles for each kind of attention, where nothing else is done to them."""
    if not isinstance(given, dict) or set(given) != set(KINDS):
        return None
    for angles in given.values():
        if not isinstance(angles, dict) or set(angles) != {"rope_theta", "rope_type"}:
            return None
        if angles["rope_type"] != "default" or not isinstance(angles["rope_theta"], int | float):
            return None
    return {kind: float(angles["rope_theta"]) for kind, angles in given.items()}
