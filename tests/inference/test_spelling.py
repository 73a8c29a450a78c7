from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.inference.spelling import speller
from unmask.models.load import LoadedModel, load_model

Make = Callable[..., Path]


@pytest.fixture(params=("wordpiece", "bpe", "unigram"))
def loaded(request: pytest.FixtureRequest, make_model: Make) -> LoadedModel:
    return load_model(make_model(kind=request.param))


def test_every_kind_of_tokenizer_spells_words_with_a_space_and_pieces_without(loaded: LoadedModel) -> None:
    spell = speller(loaded)
    spelt = {spell(token) for token in loaded.vocabulary.ordinary.tolist()}
    assert " the" in spelt
    assert any(len(each) > 1 and each.isalpha() for each in spelt)
    assert all(each.strip() and each.isprintable() for each in spelt)


def test_pieces_of_a_word_read_as_the_word(loaded: LoadedModel) -> None:
    ids = loaded.tokenizer("see the kingdoms", add_special_tokens=False)["input_ids"]
    assert speller(loaded)(*ids).strip() == "see the kingdoms"
    assert speller(loaded)(*ids[-2:]).strip() in "the kingdoms"
