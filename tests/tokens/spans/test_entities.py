"""Names are told by their capitals, whatever begins a sentence, and the same way each time."""

from __future__ import annotations

import pytest

from unmask.errors import BadInput
from unmask.tokens.spans import entities
from unmask.tokens.spans.entities import CountedEntity, mine_entities


def names(*texts: str, **settings: int) -> list[str]:
    return [entity.text for entity in mine_entities(texts, **{"min_count": 0, **settings})]


def test_a_sequence_of_names_is_found_and_counted_wherever_it_stands_inside_a_sentence() -> None:
    text = "We saw New York City, then (Buenos Aires) and New York City. We left New York City; all of it."
    assert mine_entities([text], min_count=0) == [CountedEntity("New York City", 3), CountedEntity("Buenos Aires", 1)]
    assert mine_entities([text], min_count=1) == [CountedEntity("New York City", 3)]


@pytest.mark.parametrize("begin", ["", "It rained. ", "He said: ", "Why? ", "A list\n", 'And then "'])
def test_the_first_word_of_a_sentence_is_no_name_for_its_capital(begin: str) -> None:
    assert names(f"{begin}Yesterday Harold sang.", "one day Harold slept, and so did Harold") == []
    assert names(f"{begin}Then Harold Bluetooth sang.") == ["Harold Bluetooth"]


def test_what_begins_a_sentence_is_marked_elsewhere_as_a_name_and_then_whole() -> None:
    assert names("Harold Bluetooth sang, and they heard Harold Bluetooth.") == ["Harold Bluetooth"]


def test_words_that_are_seldom_capitalised_open_and_close_no_name() -> None:
    usual = " ".join(["the hat and the cat or the early life of a king and the career of it"] * 20)
    assert names(usual, "we read The New York Times And The Guardian") == ["New York Times And The Guardian"]
    assert names(usual, "we read The Times Of London And") == ["Times Of London"]
    assert names(usual, "a heading: it is about Early Life And Career") == []  # no word in it is a name


def test_names_are_found_with_initials_hyphens_apostrophes_and_in_other_scripts() -> None:
    text = "so J. R. R. Tolkien met Jean-Paul O’Brien, John F. Kennedy's wife, and then Лев Толстой and Ελένη Παππά"
    assert sorted(names(text)) == [
        "J. R. R. Tolkien",
        "Jean-Paul O’Brien",
        "John F. Kennedy",
        "Ελένη Παππά",
        "Лев Толстой",
    ]


def test_a_script_without_capitals_has_no_names() -> None:
    assert names("東京都に住んでいます。東京都です。", "我喜欢猫", "ฉันชอบแมว", "all of it in small letters") == []


def test_longer_sequences_than_asked_for_are_left_out() -> None:
    assert names("we met Anna Bella Clara Dora Emma Fanny Greta", "we met Anna Bella") == ["Anna Bella"]
    with pytest.raises(BadInput, match="longest 1"):
        names("", max_words=1)


def test_memory_is_bounded_and_what_is_frequent_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entities, "LIMIT", 100)
    rare = [f"we saw Anna Number{n} there, and New York too" for n in range(1000)]
    assert mine_entities(rare, min_count=2) == [CountedEntity("New York", 1000)]
