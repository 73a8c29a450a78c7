"""Families that say one token after another: GPT-2 and T5 from left to right, XLNet in a random order.

In: a size and a vocabulary. Out: a configuration for `families`, which builds the model.
"""

from __future__ import annotations

from typing import Any

from transformers import GPT2Config, PreTrainedConfig, T5Config, XLNetConfig

from unmask.models.families.sizes import Size
from unmask.records import Vocabulary


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


def xlnet(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Yang et al. 2019, as released at base: BERT's size, relative positions of any distance, no memory."""
    return XLNetConfig(
        vocab_size=vocabulary.size,
        d_model=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        d_inner=4 * size.width,
        mem_len=None,
        initializer_range=size.spread,
        dropout=dropout,
        pad_token_id=vocabulary.pad,
        bos_token_id=vocabulary.start,
        eos_token_id=vocabulary.end,
    )


def t5(size: Size, vocabulary: Vocabulary, length: int, dropout: float) -> PreTrainedConfig:
    """Raffel et al. 2020, version 1.0: an encoder and a decoder, each of BERT's size, biases for relative positions.

    How wide each kind of weight is drawn follows from the size, as in T5; the decoder begins with the padding token.
    """
    begins: dict[str, Any] = {"decoder_start_token_id": vocabulary.pad}  # which transformers' signature does not know
    return T5Config(
        vocab_size=vocabulary.size,
        d_model=size.width,
        d_kv=size.width // size.heads,
        d_ff=4 * size.width,
        num_layers=size.layers,
        num_heads=size.heads,
        dropout_rate=dropout,
        pad_token_id=vocabulary.pad,
        eos_token_id=vocabulary.end,
        **begins,
    )
