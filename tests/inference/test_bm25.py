from __future__ import annotations

from math import log
from pathlib import Path

import pytest

from unmask.errors import Damaged
from unmask.inference.bm25 import K1, B, WordIndex, words_of, write_words

TEXTS = ["the cat sees the dog", "The dog, again: DOG!", "a bird", "!!!", "猫が好き the"]


@pytest.fixture
def words(tmp_path: Path) -> WordIndex:
    write_words(iter(TEXTS), len(TEXTS), tmp_path / "words")
    return WordIndex(tmp_path / "words")


def score(query: list[str], text: str) -> float:
    """BM25 as Lucene has it, written out."""
    rows = [[word.spelt for word in words_of(each)] for each in TEXTS]
    row, mean = [word.spelt for word in words_of(text)], sum(map(len, rows)) / len(rows)
    total = 0.0
    for word in query:
        having, count = sum(word in each for each in rows), row.count(word)
        idf = log(1 + (len(rows) - having + 0.5) / (having + 0.5))
        total += idf * count / (count + K1 * (1 - B + B * len(row) / mean))
    return total


def test_scores_are_the_formulas(words: WordIndex) -> None:
    numbers, scores = words.top("Dog the unheard", 10)
    assert numbers.tolist() == sorted(numbers.tolist(), key=lambda n: -score(["dog", "the"], TEXTS[n]))
    assert scores.tolist() == pytest.approx([score(["dog", "the"], TEXTS[n]) for n in numbers], rel=1e-5)
    assert set(numbers.tolist()) == {0, 1, 4}  # those that have a word of it


def test_a_query_without_a_known_word_finds_nothing(words: WordIndex) -> None:
    for query in ("unheard", "", "!?"):
        assert words.top(query, 3)[0].tolist() == []


def test_scripts_without_spaces_are_found_by_their_characters(words: WordIndex) -> None:
    assert words.top("猫", 3)[0].tolist() == [4]


def test_a_word_that_many_passages_have_is_common(words: WordIndex) -> None:
    assert words.is_common("the") and not words.is_common("bird") and not words.is_common("unheard")


def test_texts_without_any_word_and_a_damaged_table(tmp_path: Path) -> None:
    write_words(iter(["!", "?"]), 2, tmp_path / "empty")
    assert WordIndex(tmp_path / "empty").top("cat", 2)[0].tolist() == []
    (tmp_path / "empty" / "data.csc.index.npy").write_bytes(b"no array")
    with pytest.raises(Damaged, match="the table of words cannot be read"):
        WordIndex(tmp_path / "empty")
