from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.inference.passages import Passage, read_passages
from unmask.models.load import LoadedModel, load_model

Make = Callable[..., Path]


@pytest.fixture(
    params=[("bert", "wordpiece"), ("roberta", "bpe"), ("xlm-roberta", "unigram")], ids=lambda each: each[1]
)
def loaded(request: pytest.FixtureRequest, make_model: Make) -> LoadedModel:
    return load_model(make_model(*request.param))


def passage_of(lm: LoadedModel, text: str, **around: str) -> Passage:
    (passage,) = read_passages(lm, [text], **around)
    assert isinstance(passage, Passage)
    return passage


def test_what_is_scored_is_the_text_and_not_what_stands_around_it(loaded: LoadedModel) -> None:
    text = "the dog sees the sea"
    alone = passage_of(loaded, text)
    assert (alone.first, alone.last) == (0, len(alone.ids))
    whole = passage_of(loaded, text, prefix="My sister", suffix="again.")
    inside = whole.ids[whole.first : whole.last]
    assert loaded.tokenizer.decode(inside).strip() == text
    assert loaded.tokenizer.decode(whole.ids[: whole.first]).strip() == "My sister"
    assert loaded.tokenizer.decode(whole.ids[whole.last :]).strip().replace(" ", "") == "again."
    spelt = [text[max(0, begin) : end].strip() for begin, end in whole.offsets[whole.first : whole.last]]
    assert "".join(spelt) == text.replace(" ", "")


def test_a_space_joins_what_has_none(loaded: LoadedModel) -> None:
    apart = passage_of(loaded, "the sea", prefix="My sister sees")
    assert apart.ids.tolist() == passage_of(loaded, "the sea", prefix="My sister sees ").ids.tolist()


def test_what_is_hidden_together_ends_with_the_word_or_with_what_is_scored(make_model: Make) -> None:
    lm = load_model(make_model())
    passage = passage_of(lm, "the kinggardens")
    assert passage.starts.tolist()[:2] == [True, True] and not passage.starts[2:].any() and len(passage.ids) > 3
    assert passage.stops.tolist() == [1, *[len(passage.ids)] * (len(passage.ids) - 1)]


def test_a_text_without_a_token_and_one_that_is_no_unicode_are_refused(loaded: LoadedModel) -> None:
    good, empty, broken = read_passages(loaded, ["the sea", "", "\ud800"])
    assert isinstance(good, Passage)
    assert "no token to score" in str(empty) and isinstance(empty, BadInput)
    assert "not valid Unicode" in str(broken) and isinstance(broken, BadInput)
