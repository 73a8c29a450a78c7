"""Words have their places, in every script."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.words import spelt_words, words_of


@given(st.text())
def test_a_word_stands_where_it_says(text: str) -> None:
    assert all(text[word.begin : word.end].lower() == word.spelt for word in words_of(text))


def test_case_and_punctuation_part_nothing_and_every_unspaced_character_is_a_word() -> None:
    assert spelt_words("Don't STOP_now: 3.5 猫が ไทย") == [
        "don",
        "t",
        "stop",
        "now",
        "3",
        "5",
        "猫",
        "が",
        "ไ",
        "ท",
        "ย",
    ]
