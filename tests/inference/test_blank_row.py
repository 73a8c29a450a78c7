"""Laws of the rows that blanks are filled in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.inference.blank_row import MOST_BLANKS, blank_groups, make_row
from unmask.inference.blanks import BlankText, read_blanks
from unmask.models.load import LoadedModel, load_model

Make = Callable[..., Path]


@pytest.fixture(scope="module")
def loaded(make_model: Make) -> LoadedModel:
    return load_model(make_model())


def read(loaded: LoadedModel, text: str) -> BlankText:
    (question,) = read_blanks(loaded, [text])
    assert isinstance(question, BlankText)
    return question


def test_a_row_shows_what_is_filled_and_hides_what_is_not(loaded: LoadedModel) -> None:
    text = read(loaded, "the [MASK] of [MASK:word] .")
    row = make_row(loaded, text, (0, 1), most_pieces=4)
    king, mask = loaded.tokenizer.get_vocab()["king"], loaded.vocabulary.mask
    question = row.question(((king,), (mask, mask, mask)), (0, 0), (1, 2))
    tokens = loaded.tokenizer.convert_ids_to_tokens(question.ids.tolist())
    assert tokens == ["[CLS]", "the", "king", "of", "[MASK]", "[MASK]", "[MASK]", ".", "[SEP]"]
    assert question.asked.tolist() == [2, 6]


def test_no_row_is_longer_than_the_model_takes(loaded: LoadedModel) -> None:
    text = read(loaded, "the king " * 100 + "[MASK:word] [MASK] [MASK:word]" + " the dog" * 100)
    row = make_row(loaded, text, (1, 2), most_pieces=4, shown={text.blanks[0].place: (5, 6, 7, 8)})
    mask = loaded.vocabulary.mask
    assert loaded.length is not None
    assert loaded.length - 4 <= len(row.question(((mask,), (mask,) * 4), (0, 0)).ids) <= loaded.length


def test_blanks_within_a_row_are_together_and_those_far_apart_are_not(loaded: LoadedModel) -> None:
    assert blank_groups(read(loaded, "[MASK] " + "the king " * 20 + "[MASK]"), loaded.room) == [(0, 1)]
    assert blank_groups(read(loaded, "[MASK] [MASK] " + "the king " * 50 + "[MASK]"), loaded.room) == [(0, 1), (2,)]
    many = blank_groups(read(loaded, "[MASK] " * 20), loaded.room)
    assert max(map(len, many)) == MOST_BLANKS and [number for group in many for number in group] == list(range(20))
