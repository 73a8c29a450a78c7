from __future__ import annotations

import sys
import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.corpus.clean import clean_texts

LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
AWKWARD = "aé\u0301\u0300ｶﾞ각\u1100\u1161\u11a8Å\u212b \t\n\r\0\x07\x7f\x9f\ufeff\u00a0\u2003\u3000\u200d\u2028\v1.—😀"
texts = st.lists(st.text(st.sampled_from(AWKWARD)) | st.text(), max_size=5)


def reference(text: str) -> str:
    """Cleaning as a person would write it down, character by character."""
    text = text.replace("\r\n", "\n")
    spaced = []
    for character in text:
        if character in LINE_ENDS or character == "\n":
            spaced.append("\n")
        elif character == "\t" or unicodedata.category(character) == "Zs":
            spaced.append(" ")
        elif unicodedata.category(character) != "Cc" and character != "\ufeff":
            spaced.append(character)
    lines = [" ".join(word for word in line.split(" ") if word) for line in "".join(spaced).split("\n")]
    return unicodedata.normalize("NFC", "\n".join(line for line in lines if line))


@settings(deadline=None)
@given(texts)
def test_cleaning_columns_is_cleaning_each_text_by_hand(raw: list[str]) -> None:
    assert clean_texts(pa.array(raw, type=pa.large_string())).to_pylist() == [reference(text) for text in raw]


@given(texts)
def test_cleaning_twice_is_cleaning_once(raw: list[str]) -> None:
    once = clean_texts(pa.array(raw, type=pa.string()))
    assert clean_texts(once).equals(once)


def test_every_character_but_the_plain_ideographs_comes_out_as_by_hand() -> None:
    codes = [*range(0x3400), *range(0xA000, 0xAC00), *range(0xD700, 0xD800), *range(0xE000, 0x20000)]
    every = [f"a{chr(code)}b" for code in [*codes, *range(0x2F800, 0x2FB00), sys.maxunicode]]
    got = clean_texts(pa.array(every)).to_pylist()
    assert [(raw, text) for raw, text in zip(every, got, strict=True) if text != reference(raw)] == []


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("e\u0301", "é"),
        ("e\x00\u0301", "é"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("  one \n\n\t two\u00a0 three \n", "one\ntwo three"),
        ("क्\u200dष", "क्\u200dष"),  # the joiner belongs to the word
        (" \n\t\x00\ufeff ", ""),
    ],
)
def test_what_comes_out(raw: str, text: str) -> None:
    assert clean_texts(pa.array([raw])).to_pylist() == [text]
