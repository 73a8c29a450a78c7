from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.corpus.clean import clean_texts
from unmask.corpus.marks import clean_with_places, marks_column, marks_within, move_marks, read_marks

AWKWARD = "aé\u0301\u0300ｶﾞ각\u1100\u1161\u11a8Å\u212b \t\n\r\0\x07\x7f\x9f\ufeff\u00a0\u2003\u3000\u200d\u2028\v1.—😀"
SPACES = " \t\n\r\0\x07\ufeff\u00a0\u3000\u2028"
words = st.text(st.sampled_from("be\u0301\u0300각\u1100\u1161Å\u212b\x07\ufeff😀"), max_size=6).map(
    lambda text: f"x{text}x"
)


@settings(deadline=None)
@given(st.text(st.sampled_from(AWKWARD)) | st.text(), st.data())
def test_the_text_is_cleaned_as_columns_are_and_places_stay_in_order(raw: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    text, now = clean_with_places(raw, places)
    assert text == clean_texts(pa.array([raw], type=pa.string())).to_pylist()[0]
    assert list(now.values()) == sorted(now.values()) and all(0 <= place <= len(text) for place in now.values())


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(st.sampled_from(SPACES), min_size=1, max_size=4), words), max_size=6))
def test_a_span_is_the_same_words_before_and_after(pieces: list[tuple[str, str]]) -> None:
    raw, marks = "", []
    for space, word in pieces:
        raw += space
        marks.append((len(raw), len(raw) + len(word), "entity"))
        raw += word
    text = clean_texts(pa.array([raw], type=pa.string())).to_pylist()[0]
    (found,) = move_marks(pa.array([raw]), marks_column([marks])).to_pylist()
    told = [text[mark["start"] : mark["end"]] for mark in found or ()]
    assert told == [clean_texts(pa.array([word])).to_pylist()[0] for _, word in pieces]


def test_space_at_the_edges_of_a_span_is_no_part_of_it_and_space_alone_is_no_span() -> None:
    raw = "to \t New York \n and"
    found = move_marks(pa.array([raw, raw]), marks_column([[(2, 14, "entity"), (3, 4, "phrase")], None])).to_pylist()
    assert found == [[{"start": 3, "end": 11, "kind": "entity"}], None]
    assert clean_texts(pa.array([raw])).to_pylist()[0][3:11] == "New York"


def test_a_place_between_a_letter_and_its_accent_goes_behind_both() -> None:
    assert clean_with_places("cafe\u0301 x", [3, 4, 5, 6]) == ("café x", {3: 3, 4: 4, 5: 4, 6: 5})
    assert unicodedata.is_normalized("NFC", clean_with_places("\u1100\u1161\u11a8", [1])[0])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("0-5", "not a list"),
        ([[0, 5]], "span 1 is neither"),
        ([[0, 3, "entity"], "x"], "span 2 is neither"),
        ([[0, True, "entity"]], "span 1 is neither"),
        ([{"start": 0, "end": 3}], "span 1 is neither"),
        ([[0, 12, "entity"]], "span 1 is from 0 to 12, and the text has 11 characters"),
        ([[-1, 3, "entity"]], "from -1 to 3"),
        ([[3, 3, "entity"]], "from 3 to 3"),
        ([[0, 3, "../PER"]], "none of entity, phrase, collocation"),
    ],
)
def test_spans_that_are_none_are_told_apart(value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_marks(value, "New York is")


def test_spans_may_be_lists_or_objects_or_nothing() -> None:
    assert read_marks([[0, 8, "entity"], {"start": 9, "end": 11, "kind": "phrase", "id": 7}], "New York is") == (
        (0, 8, "entity"),
        (9, 11, "phrase"),
    )
    assert read_marks(None, "x") == read_marks([], "x") == ()


def test_a_part_of_a_text_has_the_spans_that_are_whole_in_it() -> None:
    assert marks_within([(0, 4, "entity"), (4, 8, "entity"), (6, 9, "phrase")], 4, 8) == ((0, 4, "entity"),)
