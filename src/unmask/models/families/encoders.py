"""Families that restore hidden tokens in place: BERT, those that are BERT with other settings, and ModernBERT.

In: a size and a vocabulary. Out: a configuration for `families`, which builds the model. A family's feed-forward width
is chosen so that families of one size have the same number of weights in their layers.
"""

from __future__ import annotations

from typing import Any

from transformers import (
    BertConfig,
    ErnieConfig,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedConfig,
    RobertaConfig,
    XLMRobertaConfig,
    XLMRobertaXLConfig,
)

from unmask.models.families.sizes import SIZES, Size
from unmask.records import Vocabulary


def bert(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Devlin et al. 2019: learned positions, post-norm, GELU, four times the width in between."""
    return BertConfig(
        vocab_size=vocabulary.size,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
        max_position_embeddings=length,
        initializer_range=size.spread,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        pad_token_id=vocabulary.pad,
    )


def ernie(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Sun et al. 2019: BERT, with ReLU and a wider ε in its norms as released."""
    return config_like(bert(size, vocabulary, length, dropout), ErnieConfig, hidden_act="relu", layer_norm_eps=1e-5)


def roberta(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Liu et al. 2019: BERT with one kind of segment, whose positions are counted from the padding id + 1."""
    return config_like(
        bert(size, vocabulary, length + vocabulary.pad + 1, dropout),
        RobertaConfig,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        bos_token_id=vocabulary.start,
        eos_token_id=vocabulary.end,
    )


def xlm_roberta(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Conneau et al. 2020: RoBERTa over many languages."""
    return config_like(roberta(size, vocabulary, length, dropout), XLMRobertaConfig)


def xlm_roberta_xl(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Goyal et al. 2021: XLM-R with norms before its layers and one after the last, so that it can be deep."""
    return config_like(roberta(size, vocabulary, length, dropout), XLMRobertaXLConfig)


def mpnet(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Song et al. 2020: BERT without segments, its layers sharing biases for relative positions besides learned ones.

    transformers counts its positions as if the padding id were 1, whatever it is: from 2, and a token whose id is 1 has
    none.
    """
    return MPNetConfig(
        vocab_size=vocabulary.size,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
        max_position_embeddings=length + 2,
        layer_norm_eps=1e-5,
        initializer_range=size.spread,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        pad_token_id=vocabulary.pad,
        bos_token_id=vocabulary.start,
        eos_token_id=vocabulary.end,
    )


def config_like(config: PreTrainedConfig, kind: type[PreTrainedConfig], **changes: Any) -> PreTrainedConfig:
    """A configuration of another kind with the same settings, but for some."""
    settings = {**config.to_dict(), **changes}
    del settings["model_type"]
    return kind(**settings)


def modernbert(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Warner et al. 2024: rotary positions, pre-norm, no biases, GeGLU, global attention each third layer.

    A GeGLU layer has three matrices where BERT's has two, so 8/3 of the width keeps the weights equal; the base
    that was released is deeper and narrower.
    """
    is_base = size == SIZES["base"]
    return ModernBertConfig(
        vocab_size=vocabulary.size,
        hidden_size=size.width,
        num_hidden_layers=22 if is_base else size.layers,
        num_attention_heads=size.heads,
        intermediate_size=1152 if is_base else round(size.width * 8 / 3 / 32) * 32,
        local_attention=size.window,
        max_position_embeddings=length,
        initializer_range=size.spread,
        attention_dropout=dropout,
        embedding_dropout=dropout,
        mlp_dropout=dropout,
        pad_token_id=vocabulary.pad,
        bos_token_id=vocabulary.start,
        cls_token_id=vocabulary.start,
        eos_token_id=vocabulary.end,
        sep_token_id=vocabulary.end,
    )
