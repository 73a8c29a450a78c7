from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Model, PreTrainedTokenizerFast

import unmask
from unmask.errors import BadInput
from unmask.models.load_causal import causal_vocabulary, is_causal_lm, load_causal

Make = Callable[..., Path]


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    """GPT-2 as others save it: one special token, which opens and ends texts; no mask, no padding."""
    tokens = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    backend = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    ends = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
    PreTrainedTokenizerFast(tokenizer_object=backend, **ends).save_pretrained(tmp_path / "stock")
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(tokens), n_positions=64, n_embd=16, n_layer=1, n_head=2)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "stock")
    return tmp_path / "stock"


def test_a_stock_gpt2_without_mask_and_padding_is_loaded(stock: Path) -> None:
    lm = load_causal(stock)
    assert lm.length == 64
    assert lm.vocabulary.start == lm.vocabulary.end == lm.tokenizer.eos_token_id == causal_vocabulary(lm.tokenizer).pad


def test_what_fills_blanks_is_no_causal_model(stock: Path, make_model: Make) -> None:
    assert is_causal_lm(stock)
    assert not is_causal_lm(make_model("bert")) and not is_causal_lm(make_model("roberta"))


def test_a_trunk_without_a_head_and_a_foreign_tokenizer_are_refused(stock: Path, make_model: Make) -> None:
    config = GPT2Config(vocab_size=100, n_embd=16, n_layer=1, n_head=2, tie_word_embeddings=False)
    GPT2Model(config).save_pretrained(stock)
    with pytest.raises(BadInput, match="lack lm_head"):
        load_causal(stock)
    GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=16, n_layer=1, n_head=2)).save_pretrained(stock)
    with pytest.raises(BadInput, match="do not belong together"):
        load_causal(stock)


def test_a_directory_that_cannot_be_read_is_explained_as_every_other_is(stock: Path) -> None:
    (stock / "config.json").write_text('{"model_type": "made-up"}', encoding="utf-8")
    assert not is_causal_lm(stock)
    with pytest.raises(BadInput, match="cannot load a model of type 'made-up'"):
        unmask.score(stock, "a text")


def test_weights_that_are_missing_or_pickled_and_an_unknown_precision_are_named(stock: Path) -> None:
    with pytest.raises(BadInput, match="--precision int4: choose one of"):
        load_causal(stock, precision="int4")
    (stock / "model.safetensors").rename(stock / "pytorch_model.bin")
    with pytest.raises(BadInput, match="pickled weights can run code"):
        load_causal(stock)
    (stock / "pytorch_model.bin").unlink()
    with pytest.raises(BadInput, match=r"model\.safetensors is missing"):
        load_causal(stock)
