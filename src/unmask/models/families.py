"""Models by family and size: transformers' own classes, configured here and nowhere else.

In: a family, a size and a vocabulary. Out: a fresh masked language model with weights drawn from a seed.
Sizes are layers × width; a family's feed-forward width is chosen so that families of one size have the same number
of weights in their layers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoModelForSeq2SeqLM,
    AutoModelForTokenClassification,
    BertConfig,
    ErnieConfig,
    GPT2Config,
    ModernBertConfig,
    PreTrainedConfig,
    PreTrainedModel,
    RobertaConfig,
    XLMRobertaConfig,
)

from unmask.errors import BadInput
from unmask.models.detection import deberta, deberta_detector, deberta_generator, electra, electra_generator
from unmask.models.sequential import t5, xlnet
from unmask.records import Vocabulary


@dataclass(frozen=True)
class Size:
    """Layers, width and attention heads."""

    layers: int
    width: int
    heads: int

    @property
    def spread(self) -> float:
        """Standard deviation of fresh weights: 0.7 / √width, near BERT's 0.02 at its width of 768.

        0.02 at a width of 128 leaves attention so flat that it takes a third more steps to learn to look around.
        """
        return 0.7 / self.width**0.5


SIZES = {
    "tiny": Size(2, 128, 2),
    "mini": Size(4, 256, 4),
    "small": Size(6, 384, 6),
    "base": Size(12, 768, 12),
}


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
    return _like(bert(size, vocabulary, length, dropout), ErnieConfig, hidden_act="relu", layer_norm_eps=1e-5)


def roberta(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Liu et al. 2019: BERT with one kind of segment, whose positions are counted from the padding id + 1."""
    return _like(
        bert(size, vocabulary, length + vocabulary.pad + 1, dropout),
        RobertaConfig,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        bos_token_id=vocabulary.start,
        eos_token_id=vocabulary.end,
    )


def xlm_roberta(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Conneau et al. 2020: RoBERTa over many languages."""
    return _like(roberta(size, vocabulary, length, dropout), XLMRobertaConfig)


def _like(config: PreTrainedConfig, kind: type[PreTrainedConfig], **changes: Any) -> PreTrainedConfig:
    """A configuration of another kind with the same settings, but for some."""
    settings = {**config.to_dict(), **changes}
    del settings["model_type"]
    return kind(**settings)


def gpt2(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Radford et al. 2019: from left to right, pre-norm, learned positions, four times the width in between."""
    return GPT2Config(
        vocab_size=vocabulary.size,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        n_positions=length,
        initializer_range=size.spread,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        pad_token_id=vocabulary.pad,
        bos_token_id=vocabulary.start,
        eos_token_id=vocabulary.end,
    )


def modernbert(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Warner et al. 2024: rotary positions, pre-norm, no biases, GeGLU, global attention each third layer.

    A GeGLU layer has three matrices where BERT's has two, so 8/3 of the width keeps the weights equal.
    """
    return ModernBertConfig(
        vocab_size=vocabulary.size,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=round(size.width * 8 / 3 / 32) * 32,
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


@dataclass(frozen=True)
class Family:
    """How a family is configured, which class of transformers it is, and what its attention can do."""

    config: Callable[[Size, Vocabulary, int, float], PreTrainedConfig]
    made_by: Any = AutoModelForMaskedLM
    attention: str = "sdpa"
    packs: bool = True  # keeps several documents in a row apart


FAMILIES = {
    "bert": Family(bert),
    "modernbert": Family(modernbert),
    "roberta": Family(roberta),
    "xlm-roberta": Family(xlm_roberta),
    "ernie": Family(ernie),
    "gpt2": Family(gpt2, AutoModelForCausalLM),
    "electra": Family(electra, AutoModelForPreTraining),
    "electra-generator": Family(electra_generator),
    "deberta": Family(deberta, attention="eager", packs=False),
    "deberta-v3": Family(deberta_detector, AutoModelForTokenClassification, attention="eager", packs=False),
    "deberta-v3-generator": Family(deberta_generator, attention="eager", packs=False),
    "t5": Family(t5, AutoModelForSeq2SeqLM),
    "xlnet": Family(xlnet, AutoModelForCausalLM, attention="eager"),
}


MASKED_LMS = frozenset(name for name, family in FAMILIES.items() if family.made_by is AutoModelForMaskedLM)


def build(
    family: str, size: str | Size, vocabulary: Vocabulary, *, length: int, dropout: float, seed: int
) -> PreTrainedModel:
    """A fresh model whose weights depend on the seed alone."""
    if family not in FAMILIES:
        raise BadInput(f"unknown model family {family!r}: choose one of {', '.join(FAMILIES)}")
    if isinstance(size, str) and size not in SIZES:
        raise BadInput(f"unknown model size {size!r}: choose one of {', '.join(SIZES)}")
    kind = FAMILIES[family]
    config = kind.config(SIZES[size] if isinstance(size, str) else size, vocabulary, length, dropout)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: PreTrainedModel = kind.made_by.from_config(config, attn_implementation=kind.attention)
        return model
