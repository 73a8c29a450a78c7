"""ModernBERTs for the tests of what computes them in another way."""

from __future__ import annotations

import torch
from transformers import ModernBertConfig, ModernBertForMaskedLM


def plain_model(layers: list[str], **changes: object) -> ModernBertForMaskedLM:
    """A small one whose layers are of these kinds."""
    settings = {
        "vocab_size": 96,
        "hidden_size": 32,
        "num_hidden_layers": len(layers),
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "layer_types": layers,
        "local_attention": 8,
        "max_position_embeddings": 256,
        "initializer_range": 0.2,
        "pad_token_id": 0,
    }
    torch.manual_seed(0)
    config = ModernBertConfig(**settings, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, **changes)
    return ModernBertForMaskedLM._from_config(config, attn_implementation="sdpa").eval()
