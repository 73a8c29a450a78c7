"""Words that save the most tokens on other documents come first; a list is read back, edited, and held to the text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.tokens.tokenizer.wanted import choose_words, count_words, read_words, write_words

TEXTS = [f"the myocardial tissue and the myocardial cells saw stenosis {n} times in CO2" for n in range(20)]


@pytest.fixture(params=["wordpiece", "bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest, make_model: Callable[..., Path]) -> PreTrainedTokenizerFast:
    return load_tokenizer(make_model("bert", request.param))


def test_the_most_saving_words_come_first_and_only_words_do(tokenizer: PreTrainedTokenizerFast) -> None:
    counts = count_words(tokenizer, TEXTS)
    words = choose_words(tokenizer, counts, None, tokens=400)
    assert [words[0].word, words[0].count] == ["myocardial", 40]
    named = {word.word for word in words}
    assert "stenosis" in named and not named & {"CO", "CO2", "the", "1"}
    assert all(len(word.pieces) > 1 for word in words)
    assert [word.word for word in choose_words(tokenizer, counts, 1, tokens=400)] == ["myocardial"]


def test_more_words_than_the_text_has_are_told(tokenizer: PreTrainedTokenizerFast) -> None:
    counts = count_words(tokenizer, TEXTS)
    most = len(choose_words(tokenizer, counts, None, tokens=0))
    with pytest.raises(BadInput, match=rf"--extend 999: the domain has {most} words .*; give at most {most}, or auto"):
        choose_words(tokenizer, counts, 999, tokens=400)


def test_a_list_is_read_as_it_was_written_and_as_it_was_edited(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    counts, file = count_words(tokenizer, TEXTS), tmp_path / "words.txt"
    words = choose_words(tokenizer, counts, 2, tokens=400)
    write_words(file, words)
    assert read_words(file, tokenizer, counts) == words
    file.write_text("stenosis\n\n# a note\n")
    assert [word.word for word in read_words(file, tokenizer, counts)] == ["stenosis"]
    file.write_text("stenosis\nnowhere\n")
    with pytest.raises(BadInput, match=r"words.txt:2: 'nowhere' is nowhere in the domain's text; take it out"):
        read_words(file, tokenizer, counts)
