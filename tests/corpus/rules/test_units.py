"""The units of texts against splitting them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.rules.units import units_of
from unmask.words import UNSPACED

RANGES = "".join(f"{first}-{last}" for first, last in UNSPACED)
UNIT = re.compile(rf"[{RANGES}]|[^\s{RANGES}]+")

texts = st.lists(st.text() | st.text(alphabet="ab \n\0\x85猫がกé1.\u3000\ud800"), max_size=5)


@given(texts)
def test_units_are_those_of_splitting_each_text(texts: list[str]) -> None:
    for text, units in zip(texts, units_of(texts), strict=True):
        unspaced = len(re.findall(f"[{RANGES}]", text))
        assert units.unspaced_characters == unspaced and units.unspaced == (4 * unspaced > len(text))
        words = UNIT.findall(text) if units.unspaced else text.split()
        assert units.lengths.tolist() == [*map(len, words)] and units.characters == sum(map(len, words))
        assert units.with_letter == sum(any(map(str.isalpha, word)) for word in words)


@given(texts)
def test_equal_hashes_are_equal_units_in_all_texts(texts: list[str]) -> None:
    words: dict[int, str] = {}
    for text, units in zip(texts, units_of(texts), strict=True):
        for word, number in zip(
            UNIT.findall(text) if units.unspaced else text.split(), units.hashes.tolist(), strict=True
        ):
            assert words.setdefault(number, word) == word
    assert len({*words.values()}) == len(words)
