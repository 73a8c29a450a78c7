"""Vectors are the model's own, whatever its family, the batch and the padding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel
from transformers.utils import logging

from unmask.errors import BadInput
from unmask.evaluation.features import text_vectors, word_vectors
from unmask.inference.vectors import encoder_of, load_encoder
from unmask.models.families.family import build_model
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import save_tokenizer, vocabulary_of
from unmask.tokens.tokenizer.train import train_tokenizer
from unmask.tokens.windows import windows_over

FAMILIES = ("bert", "modernbert", "roberta", "gpt2", "electra", "deberta", "xlnet", "mpnet", "t5")
SENTENCES = [
    ["The", "king", "sees", "the", "garden", "every", "day", "."],
    ["Nobody"],
    ["My", "sister", "remembers", "an", "unbelievable", "number", "of", "old", "stories", "since", "winter", "."],
]


@pytest.fixture(scope="module")
def tokenizer(corpus: Path):
    return train_tokenizer(corpus.read_text().split("\n\n")[:100], "wordpiece", 300)


@pytest.fixture(scope="module")
def directory(tokenizer, tmp_path_factory: pytest.TempPathFactory):
    logging.disable_progress_bar()

    def make(family: str) -> Path:
        path = tmp_path_factory.mktemp(family)
        vocabulary = vocabulary_of(tokenizer)
        build_model(family, "tiny", vocabulary, length=64, dropout=0.0, seed=0).save_pretrained(path)
        save_tokenizer(tokenizer, path)
        return path

    return make


@pytest.mark.parametrize("family", FAMILIES)
def test_each_text_and_word_has_the_vector_of_the_stock_model_on_that_text_alone(family: str, directory) -> None:
    path = directory(family)
    stock = AutoModel.from_pretrained(path).eval()
    stock = stock.get_encoder() if stock.config.is_encoder_decoder else stock
    encoder = load_encoder(path)
    texts = [" ".join(words) for words in SENTENCES]
    means, words = text_vectors(encoder, texts), word_vectors(encoder, SENTENCES)
    for number, text in enumerate(texts):
        given = encoder.tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            vectors = stock(input_ids=given.input_ids).last_hidden_state[0, 1:-1].numpy()
        np.testing.assert_allclose(means[number], vectors.mean(0), atol=2e-4)
        first = [given.word_to_tokens(place).start - 1 for place in range(len(SENTENCES[number]))]
        np.testing.assert_allclose(words[number], vectors[first], atol=2e-4)


def test_a_model_in_memory_has_the_vectors_of_its_directory(directory) -> None:
    path = directory("electra")
    encoder = load_encoder(path)
    model = build_model("electra", "tiny", vocabulary_of(encoder.tokenizer), length=64, dropout=0.0, seed=0)
    ours = text_vectors(encoder_of(model, encoder.tokenizer), ["The king sees the garden."])
    np.testing.assert_allclose(ours, text_vectors(encoder, ["The king sees the garden."]), atol=1e-5)


def test_an_empty_text_is_nothing(directory) -> None:
    encoder = load_encoder(directory("bert"))
    empty, full = text_vectors(encoder, ["", "king"])
    assert not empty.any() and full.any()


def test_a_directory_that_holds_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(BadInput, match=r"has no weights, model\.safetensors is missing"):
        load_encoder(tmp_path)


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_a_long_text_is_read_in_windows_and_no_word_is_left_out(family: str, directory) -> None:
    """Each token has its vector in the window where it has most context, and counts once in the mean."""
    encoder = load_encoder(directory(family))
    assert encoder.room == 62
    words = SENTENCES[2] * 20
    (row,) = encode(encoder.tokenizer, [" ".join(words)], offsets=True)
    expected = np.zeros((len(row.ids), encoder.width))
    for window in windows_over(len(row.ids), 62):
        ids = [encoder.around[0][0], *row.ids[window.begin : window.end].tolist(), encoder.around[1][0]]
        with torch.no_grad():
            states = encoder.model(input_ids=torch.tensor([ids])).last_hidden_state[0, 1:-1].numpy()
        expected[window.first : window.last] = states[window.judged]
    mean, short = text_vectors(encoder, [" ".join(words), "Nobody"])
    np.testing.assert_allclose(mean, expected.mean(0), atol=2e-4)
    np.testing.assert_allclose(short, text_vectors(encoder, ["Nobody"])[0], atol=2e-4)
    (vectors,) = word_vectors(encoder, [words])
    assert len(vectors) == len(words) and np.abs(vectors).sum(1).min() > 0
    last = int(np.flatnonzero(row.word_starts)[-1])
    np.testing.assert_allclose(vectors[-1], expected[last], atol=2e-4)
