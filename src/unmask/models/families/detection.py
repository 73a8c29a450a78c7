"""Families for the detection of replaced tokens, ELECTRA and DeBERTa, with the smaller ones that replace them.

In: a size and a vocabulary. Out: a configuration for `families`, which builds the model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from transformers import DebertaV2Config, ElectraConfig, PreTrainedConfig

from unmask.models.families.encoders import bert, config_like
from unmask.models.families.sizes import Size
from unmask.records import Vocabulary


def electra(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Clark et al. 2020: the discriminator is BERT, with embeddings as wide as its layers."""
    return config_like(bert(size, vocabulary, length, dropout), ElectraConfig, embedding_size=size.width)


def electra_generator(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """As deep as its discriminator with a third of its heads, the same embeddings, projected to its own width.

    Heads stay as wide as they are, so the width is a third at base and small, a quarter at mini and half at tiny.
    """
    config = electra(size, vocabulary, length, dropout)
    heads = max(1, round(size.heads / 3))
    width = heads * size.width // size.heads
    config.update({"hidden_size": width, "num_attention_heads": heads, "intermediate_size": 4 * width})
    return config


def deberta(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """He et al. 2021, as released at base: content and relative position attend to each other, no other positions.

    Positions lie in half as many logarithmic buckets as a row is long: 256 at 512 tokens. transformers' head for masked
    words has no enhanced mask decoder, the paper's second look with absolute positions, and so this has none either.
    """
    positions: dict[str, Any] = {  # of which transformers' own signature does not know all
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": min(256, max(16, length // 2)),
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
        "position_biased_input": False,
    }
    return DebertaV2Config(
        vocab_size=vocabulary.size,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
        max_position_embeddings=length,
        type_vocab_size=0,
        layer_norm_eps=1e-7,
        initializer_range=size.spread,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        pad_token_id=vocabulary.pad,
        **positions,
    )


def deberta_detector(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """DeBERTa with one number for each token: whether it was replaced."""
    config = deberta(size, vocabulary, length, dropout)
    config.update({"num_labels": 1, "id2label": {0: "replaced"}, "label2id": {"replaced": 0}})
    return config


def deberta_generator(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """DeBERTa of half the depth, as wide as its discriminator."""
    return deberta(replace(size, layers=-(-size.layers // 2)), vocabulary, length, dropout)
