"""A text's vector is sentence-transformers', and of a long text the mean over its windows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel

import unmask
from unmask.errors import BadInput
from unmask.inference.embed import TextPooling, TextVector, embed_texts
from unmask.inference.vectors import Encoder, load_encoder
from unmask.models.families.family import build_model
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer, vocabulary_of
from unmask.tokens.windows import windows_over

Make = Callable[..., Path]
TEXTS = ["The king sees the garden.", "Nobody", "", "My sister remembers an unbelievable number of old stories again."]
LONG = " ".join(["The captain crosses a wooden bridge."] * 30)


def vectors_of(encoder: Encoder, texts: list[str], pooling: str = "mean", **more: object) -> np.ndarray:
    made = embed_texts(encoder, texts, TextPooling.named(pooling, encoder), **more)  # type: ignore[arg-type]
    return np.stack([each.vector for each in made if isinstance(each, TextVector)])


@pytest.mark.parametrize(("family", "kind"), [("bert", "wordpiece"), ("roberta", "unigram"), ("modernbert", "bpe")])
def test_the_mean_is_what_sentence_transformers_gives(make_model: Make, family: str, kind: str) -> None:
    from sentence_transformers import SentenceTransformer

    path = make_model(family, kind)
    theirs = SentenceTransformer(str(path), device="cpu").encode(TEXTS, show_progress_bar=False)
    model = unmask.load(path, device="cpu")
    np.testing.assert_allclose(model.embed(TEXTS), theirs, atol=1e-5)
    shorter = model.embed(TEXTS, dimensions=8, normalise=True)
    np.testing.assert_allclose(shorter, theirs[:, :8] / np.linalg.norm(theirs[:, :8], axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("family", ["t5", "gpt2"])
def test_decoders_and_the_encoder_of_a_pair_embed_too(family: str, make_model: Make, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(make_model())
    build_model(family, "tiny", vocabulary_of(tokenizer), length=64, dropout=0.0, seed=0).save_pretrained(tmp_path)
    save_tokenizer(tokenizer, tmp_path)
    stock = AutoModel.from_pretrained(tmp_path).eval()
    stock = stock.get_encoder() if family == "t5" else stock
    made = unmask.load(tmp_path, device="cpu").embed(TEXTS[:2])
    for text, vector in zip(TEXTS[:2], made, strict=True):
        with torch.no_grad():
            states = stock(input_ids=tokenizer(text, return_tensors="pt").input_ids).last_hidden_state[0]
        np.testing.assert_allclose(vector, states.mean(0), atol=1e-5)


def test_first_is_the_opening_token_and_last2_the_mean_of_two_layers(make_model: Make) -> None:
    encoder = load_encoder(make_model())
    stock = AutoModel.from_pretrained(make_model()).eval()
    with torch.no_grad():
        given = encoder.tokenizer(TEXTS[0], return_tensors="pt").input_ids
        output = stock(input_ids=given, output_hidden_states=True)
    first, last2 = (vectors_of(encoder, TEXTS[:1], pooling)[0] for pooling in ("first", "last2"))
    np.testing.assert_allclose(first, output.last_hidden_state[0, 0], atol=1e-5)
    mean = torch.stack(output.hidden_states[-2:]).mean(0)[0].mean(0)
    np.testing.assert_allclose(last2, mean, atol=1e-5)
    with pytest.raises(BadInput, match="--pooling last3: this model has 2 layers"):
        TextPooling.named("last3", encoder)
    with pytest.raises(BadInput, match="--pooling max: choose mean, first"):
        TextPooling.named("max", encoder)


def test_a_long_text_counts_each_token_once_where_it_has_most_context(make_model: Make) -> None:
    encoder = load_encoder(make_model())
    stock = AutoModel.from_pretrained(make_model()).eval()
    ids = encode(encoder.tokenizer, [LONG])[0].ids.tolist()
    (opening,), (closing,) = encoder.around
    counted, windows = [], windows_over(len(ids), 62)
    assert len(windows) > 3
    for window in windows:
        row = torch.tensor([[opening, *ids[window.begin : window.end], closing]])
        with torch.no_grad():
            states = stock(input_ids=row).last_hidden_state[0]
        begin = 0 if window is windows[0] else 1 + window.first - window.begin
        end = len(states) if window is windows[-1] else 1 + window.last - window.begin
        counted.append(states[begin:end])
    whole = torch.cat(counted)
    assert len(whole) == len(ids) + 2
    (made,) = embed_texts(encoder, [LONG])
    assert isinstance(made, TextVector)
    np.testing.assert_allclose(made.vector, whole.mean(0), atol=1e-5)
    assert (made.reading.tokens_read, len(made.reading.windows)) == (len(ids), len(windows))


def test_a_long_text_is_cut_or_refused_where_that_was_chosen_and_the_others_go_on(make_model: Make) -> None:
    encoder = load_encoder(make_model())
    cut, short = embed_texts(encoder, [LONG, "Nobody"], on_long="cut")
    assert isinstance(cut, TextVector) and cut.reading.tokens_read == 62 and cut.reading.cut > 100
    refused, again, surrogate = embed_texts(encoder, [LONG, "Nobody", "\ud800"], on_long="error")
    assert isinstance(refused, BadInput) and "but this model takes 62" in str(refused)
    assert isinstance(surrogate, BadInput) and "no valid Unicode" in str(surrogate)
    assert isinstance(short, TextVector) and isinstance(again, TextVector)
    np.testing.assert_allclose(again.vector, short.vector, atol=1e-6)


def test_too_many_dimensions_are_named(make_model: Make) -> None:
    with pytest.raises(BadInput, match="--dimensions 99: this model's vectors have 32"):
        unmask.load(make_model(), device="cpu").embed(["a"], dimensions=99)
    assert unmask.load(make_model(), device="cpu").embed([]).shape == (0, 32)
