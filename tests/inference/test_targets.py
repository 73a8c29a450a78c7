"""Laws of target words: they are the tokens they would be in their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.inference.targets import target_choices
from unmask.models.load import LoadedModel, load_model
from unmask.tokens.tokenizer.encode import encode

Make = Callable[..., Path]


@pytest.fixture(params=("wordpiece", "bpe", "unigram"))
def loaded(request: pytest.FixtureRequest, make_model: Make) -> LoadedModel:
    return load_model(make_model(kind=request.param))


@pytest.mark.parametrize("word", ["king", "kingdog", "unbelievables", "Paris"])
def test_a_target_has_the_tokens_that_the_whole_text_has_there(loaded: LoadedModel, word: str) -> None:
    ((choice,),) = target_choices(loaded, ["the ", " sees"], [word])
    whole = encode(loaded.tokenizer, [f"the {word} sees"])[0].ids.tolist()
    assert any(whole[place : place + len(choice.pieces)] == list(choice.pieces) for place in range(len(whole)))
    assert choice.spelt == f" {word}"


def test_behind_letters_and_before_them_a_target_is_part_of_a_word(loaded: LoadedModel) -> None:
    ((behind,),) = target_choices(loaded, ["hyper", " now"], ["ing"])
    decoded = loaded.tokenizer.backend_tokenizer.decode([*encode(loaded.tokenizer, ["s"])[0].ids, *behind.pieces])
    assert decoded.endswith("sing") and behind.spelt == "ing"
    ((before,),) = target_choices(loaded, ["the ", "s now"], ["king"])
    assert loaded.tokenizer.decode(list(before.pieces)).strip() == "king"


def test_targets_that_are_the_same_tokens_are_one(loaded: LoadedModel) -> None:
    ((only,),) = target_choices(loaded, ["the ", " sees"], ["king", "king ", " king"])
    assert len(only.pieces) == 1


def test_a_target_of_several_words_is_refused(loaded: LoadedModel) -> None:
    with pytest.raises(BadInput, match="'the king' is 2 words"):
        target_choices(loaded, ["the ", " sees"], ["the king"])
