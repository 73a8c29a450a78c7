import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unmask.evaluation.frequency import BANDS, NO_WORD, token_bands, word_ranks


def band_of(text: str, start: int, end: int, rank: dict[str, int]) -> str:
    """The band of one token, looked up by hand."""
    for word in re.finditer(r"\w+", text):
        if word.start() < end and word.end() > start:
            place = rank.get(word[0].casefold(), 10**9)
            return BANDS[0 if place <= 100 else 1 if place <= 1000 else 2 if place <= 10_000 else 3]
    return BANDS[NO_WORD]


@given(st.text("ab ,.Ää中\n", max_size=40), st.data())
def test_every_token_has_the_band_of_the_first_word_it_touches(text: str, data: st.DataObject) -> None:
    rank = {"a": 1, "b": 100, "ab": 101, "ä": 1000, "中": 1001, "aa": 10_000, "bb": 10_001}
    place = st.integers(0, len(text))
    pairs = data.draw(st.lists(st.tuples(place, place).map(sorted), max_size=8))
    offsets = np.array([pair for pair in pairs if pair[0] < pair[1]], dtype=np.int32).reshape(-1, 2)
    found = [BANDS[band] for band in token_bands(text, offsets, rank)]
    assert found == [band_of(text, start, end, rank) for start, end in offsets.tolist()]


def test_a_space_before_a_token_changes_nothing() -> None:
    rank = word_ranks(["the " * 5 + "cat"])
    offsets = np.array([[0, 3], [3, 7], [4, 7]], dtype=np.int32)
    assert token_bands("the gnu", offsets, rank).tolist() == [0, 3, 3]


def test_case_does_not_matter_and_the_most_frequent_comes_first() -> None:
    assert word_ranks(["b A a.", "c B, a"]) == {"a": 1, "b": 2, "c": 3}
