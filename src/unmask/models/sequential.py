"""Families that restore one token after another: XLNet in a random order, T5 from left to right.

In: a size and a vocabulary. Out: a configuration for `families`, which builds the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import PreTrainedConfig, T5Config, XLNetConfig

from unmask.records import Vocabulary

if TYPE_CHECKING:
    from unmask.models.families import Size


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
