"""Words are found by one function, whatever the tokenizer, and a long text's words are each judged once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unmask.tasks.rows import RowReader
from unmask.tasks.tag.tagged import LabelledSpan, TaggedText, join_words
from unmask.tasks.tag.words import count_misaligned, read_words, targets_for
from unmask.tokens.tokenizer.load import load_tokenizer

WORDS = ["Grandmother", "likes", "U.S.", "music", "unbelievable", "."]


def reader(make_model: Callable[..., Path], kind: str = "wordpiece", length: int = 64) -> RowReader:
    return RowReader(load_tokenizer(make_model(kind=kind)), length)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "foreign"])
def test_a_words_first_piece_is_judged_and_has_its_space_before_it(kind: str, make_model: Callable[..., Path]) -> None:
    rows = reader(make_model, kind)
    text, places = join_words(WORDS)
    words = read_words(rows, [text], [places])
    assert words.rows.ids.tolist() == rows.tokenizer(text).input_ids  # as transformers reads the text
    judged = words.judged
    assert [text[b:e] for b, e in zip(words.begins[judged], words.ends[judged], strict=True)] == WORDS
    pieces = rows.tokenizer.convert_ids_to_tokens(words.rows.ids[words.columns[judged]].tolist())
    if kind == "bpe":
        assert pieces[0][0] == "G" and all(piece.startswith("Ġ") for piece in pieces[1:])
    if kind == "wordpiece":
        assert not any(piece.startswith("##") for piece in pieces)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "foreign"])
def test_of_a_plain_text_the_tokenizers_words_are_judged_without_the_spaces_around(
    kind: str, make_model: Callable[..., Path]
) -> None:
    text = "  Paris,  the sea.\n"
    words = read_words(reader(make_model, kind), [text], [None])
    said = [text[begin:end] for begin, end in zip(words.begins, words.ends, strict=True)]
    assert words.judged.all() and "".join(said) == "Paris,thesea."
    assert said == (["Paris,", "the", "sea."] if kind == "foreign" else ["Paris", ",", "the", "sea", "."])


def test_inside_a_given_word_the_tokenizers_words_are_learnt_and_not_judged(make_model: Callable[..., Path]) -> None:
    text, places = join_words(["the", "U.S.", "bread"])
    words = read_words(reader(make_model), [text], [places])
    assert [text[b:e] for b, e in zip(words.begins, words.ends, strict=True)] == ["the", "U.S.", ".", "S", ".", "bread"]
    assert words.judged.tolist() == [True, True, False, False, False, True]
    example = TaggedText(1, text, places, (LabelledSpan(4, 8, "LOC"),))
    assert targets_for(words, [example], ["LOC", "PER"]).tolist() == [0, 1, 2, 2, 2, 0]
    assert count_misaligned(words, [example]) == 0


def test_spans_within_words_are_learnt_by_whole_words_and_counted(make_model: Callable[..., Path]) -> None:
    text = "nobody likes music"
    words = read_words(reader(make_model), [text], [None])
    example = TaggedText(1, text, None, (LabelledSpan(2, 4, "A"), LabelledSpan(5, 12, "B"), LabelledSpan(13, 18, "A")))
    assert targets_for(words, [example], ["A", "B"]).tolist() == [1, 3, 1]
    assert count_misaligned(words, [example]) == 2


def test_each_word_of_a_long_text_is_judged_once_where_it_has_most_context(make_model: Callable[..., Path]) -> None:
    rows = reader(make_model, length=16)
    text = " ".join(["music"] * 9 + ["clouds", "bread"] * 40)
    words = read_words(rows, ["the sea", text], [None, None])
    ids = np.split(words.rows.ids, words.rows.ends[:-1])
    here = words.words_of(1)
    spelt = [ids[row][column] for row, column in zip(words.places[here], words.columns[here], strict=True)]
    (encoded,) = rows.tokenizer([text], add_special_tokens=False).input_ids
    starts = read_words(RowReader(rows.tokenizer, 2000), [text], [None])
    assert spelt == [encoded[column - 1] for column in starts.columns] and len(spelt) == 89
    inner = words.columns[here][10:-10]
    assert inner.min() >= 4 and inner.max() <= 16 - 4  # of 14 tokens in sight three at the least on both sides


def test_a_word_without_a_piece_is_not_judged_and_takes_no_other_with_it(make_model: Callable[..., Path]) -> None:
    text, places = join_words(["the", "\u00ad", "sea"])
    words = read_words(reader(make_model), [text, ""], [places, None])
    assert [text[b:e] for b, e in zip(words.begins, words.ends, strict=True)] == ["the", "sea"]
    assert words.judged.all() and words.words_of(1) == slice(2, 2)
