from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import unmask
from unmask.errors import BadInput
from unmask.inference.left_to_right import causal_log_probabilities
from unmask.inference.passages import Passage, read_passages
from unmask.models.load import load_model
from unmask.models.load_causal import load_causal
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer
from unmask.tokens.windows import read_windows

Make = Callable[..., Path]
TEXTS = ["Nobody understands the kinggardens!", "The king.", "Grandmother repairs a wooden bridge in winter."]


@pytest.fixture
def gpt2(make_model: Make, tmp_path: Path) -> Path:
    tokenizer = load_tokenizer(make_model("roberta", "bpe"))
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, n_embd=32, n_layer=2, n_head=2, initializer_range=0.4
    )
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    save_tokenizer(tokenizer, tmp_path / "gpt2")
    return tmp_path / "gpt2"


def test_a_likelihood_is_what_the_model_gives_to_each_next_token(gpt2: Path) -> None:
    lm = load_causal(gpt2)
    for text, scored in zip(TEXTS, unmask.score(gpt2, *TEXTS, tokens=True), strict=True):
        (passage,) = read_passages(lm, [text])
        assert isinstance(passage, Passage) and scored.method == "likelihood"
        row = torch.tensor([[lm.vocabulary.start, *passage.ids.tolist()]])
        with torch.no_grad():
            values = lm.model(row).logits[0, :-1].log_softmax(-1)
        expected = values[torch.arange(len(passage.ids)), row[0, 1:]].tolist()
        assert [-token.bits * np.log(2) for token in scored.surprisals] == pytest.approx(expected, abs=1e-4)


def test_a_likelihood_of_a_text_is_that_of_its_beginning_and_of_the_rest_given_that(gpt2: Path) -> None:
    model = unmask.load(gpt2)
    (whole,), (begun,) = model.score("My sister sees the sea"), model.score("My sister")
    (rest,) = model.score("sees the sea", prefix="My sister")
    assert whole.score == pytest.approx(begun.score + rest.score, abs=1e-4)


def test_what_follows_cannot_be_given(gpt2: Path) -> None:
    with pytest.raises(BadInput, match="--suffix: a model that reads from left to right"):
        unmask.score(gpt2, "the sea", suffix="again.")
    with pytest.raises(BadInput, match="--stride 2: for masked language models; the method of this one is likelihood"):
        unmask.score(gpt2, "the sea", stride=2)


def test_every_token_of_a_long_text_is_judged_once(gpt2: Path) -> None:
    (scored,) = unmask.score(gpt2, "the king sees the sea " * 60, tokens=True)
    assert scored.windows > 1 and scored.tokens == len(scored.surprisals) > 200


def test_an_encoder_that_was_trained_so_sees_nothing_to_its_right(make_model: Make) -> None:
    lm = load_model(make_model("modernbert", "bpe"))
    passages = [each for each in read_passages(lm, [TEXTS[2], TEXTS[2] + " Music!"]) if isinstance(each, Passage)]
    readings = [read_windows(len(passage.ids), lm.room) for passage in passages]
    values = {number: answers for number, _, answers in causal_log_probabilities(lm, passages, readings)}
    assert values[1][: len(values[0])] == pytest.approx(values[0], abs=1e-4)
