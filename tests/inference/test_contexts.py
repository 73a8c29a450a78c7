"""Contexts of a word are compared by the vectors of the word, and only with a sample that is stated."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.errors import BadInput
from unmask.inference.contexts import CorpusWords, WordPlace, corpus_sentences, word_vectors
from unmask.inference.vectors import Encoder, load_encoder

NEAR = "The king sees the unforgotten garden in winter again."
FAR = "Nobody likes old stories and the garden at night?"


@pytest.fixture(scope="module")
def encoder(make_model: Callable[..., Path]) -> Encoder:
    return load_encoder(make_model("bert"))


def test_a_words_vector_is_the_mean_of_its_tokens_in_its_sentence(encoder: Encoder) -> None:
    start = NEAR.index("unforgotten")
    (found,) = word_vectors(encoder, [WordPlace(NEAR, start, start + len("unforgotten"))])
    asked = encoder.tokenizer(NEAR, return_tensors="pt", return_offsets_mapping=True)
    offsets = asked.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        states = encoder.model(**asked).last_hidden_state[0]
    inside = [place for place, (begin, end) in enumerate(offsets) if begin < start + 11 and end > start]
    assert len(inside) > 1
    np.testing.assert_allclose(found, states[inside].mean(0).numpy(), atol=1e-5)


def test_the_nearest_context_comes_first_and_the_word_itself_is_no_other(encoder: Encoder, corpus: Path) -> None:
    texts = corpus_sentences([FAR, corpus.read_text(encoding="utf-8")[:6_000], NEAR])
    words = CorpusWords.read(encoder, texts)
    before = "The king sees the "
    near = words.nearest(before, "garden", " in winter.", 5)
    matches = {text: match for text in texts if (match := re.search(r"\bgarden\b", text))}
    having, places = [*matches], [WordPlace(text, *match.span()) for text, match in matches.items()]
    asked = WordPlace(f"{before}garden in winter.", len(before), len(before) + 6)
    query, *vectors = word_vectors(encoder, [asked, *places]) - words.centre
    cosines = [vector @ query / np.linalg.norm(vector) / np.linalg.norm(query) for vector in vectors]
    assert [line.cosine for line in near.same] == pytest.approx(sorted(cosines, reverse=True)[:5], abs=1e-5)
    nearest = near.same[0].left + near.same[0].word + near.same[0].right
    assert nearest == having[int(np.argmax(cosines))]
    assert near.occurrences == near.compared == len(having)
    names = [line.word.casefold() for line in near.others]
    assert len(names) == len({*names}) == 5 and "garden" not in names
    assert near.sentences == len(texts)


def test_the_sentence_itself_and_parts_of_words_are_not_found_and_long_texts_are_clipped(encoder: Encoder) -> None:
    words = CorpusWords.read(encoder, [NEAR, "The gardener welcomes a gardenparty again."])
    start = NEAR.index("garden")
    assert words.nearest(NEAR[:start], "garden", NEAR[start + 6 :]).occurrences == 0
    long = words.nearest("the dog " * 5_000, "garden", " the dog" * 5_000)
    assert [line.word for line in long.same] == ["garden"]
    with pytest.raises(BadInput, match="no sentences"):
        CorpusWords.read(encoder, [])


def test_sentences_are_cut_and_counted_within_bounds() -> None:
    parts = corpus_sentences(["word " * 200, "Too short.", "A sentence of some length. A sentence of some length."])
    assert max(map(len, parts)) <= 300 and parts.count("A sentence of some length.") == 1 and "Too short." not in parts
