"""New words are whole, old text keeps its ids, and the tokenizer is one of transformers' own, of every kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.extend import check_extensible, extend_tokenizer, word_unit
from unmask.tokens.tokenizer.load import load_tokenizer, vocabulary_size

WORDS = ("gardenia", "mountaineer", "seaside", "Parisienne")
OLD = ("The king sees a small house, of course.", "Nobody remembers the sea; it rains, naïvely 12 times! [MASK] 我")


@pytest.fixture(params=["wordpiece", "bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest, make_model: Callable[..., Path]) -> PreTrainedTokenizerFast:
    """Ours, and for unigram one as others make them, whose mask lies beyond the pieces."""
    return load_tokenizer(make_model("bert", request.param))


def test_words_get_one_id_each_and_everything_else_keeps_its_own(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    check_extensible(tokenizer)
    size, before = vocabulary_size(tokenizer), tokenizer.get_vocab()
    units = [unit for word in WORDS if (unit := word_unit(tokenizer, word)) is not None]
    extended = extend_tokenizer(tokenizer, units, tmp_path)
    assert vocabulary_size(extended) == size + len(WORDS)
    assert {token: number for token, number in extended.get_vocab().items() if number < size} == before
    old, new = (encode(each, OLD) for each in (tokenizer, extended))
    assert [row.ids.tolist() for row in old] == [row.ids.tolist() for row in new]
    (row,) = encode(extended, ["my " + " ".join(WORDS)])
    assert row.ids[-4:].tolist() == [size, size + 1, size + 2, size + 3] and row.word_starts[-4:].all()


def test_it_loads_in_transformers_and_its_words_are_no_added_tokens(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    unit = word_unit(tokenizer, "gardenia")
    assert unit is not None
    extend_tokenizer(tokenizer, [unit], tmp_path)
    stock = AutoTokenizer.from_pretrained(tmp_path)
    assert stock.convert_tokens_to_ids(unit) in stock("a gardenia here")["input_ids"]
    assert len(stock.added_tokens_decoder) == len(tokenizer.added_tokens_decoder)
    assert stock.decode(stock("the gardenia")["input_ids"], skip_special_tokens=True).strip() == "the gardenia"
    assert stock.mask_token_id == tokenizer.mask_token_id


def test_a_vocabulary_without_room_is_told(foreign: Callable[[str], PreTrainedTokenizerFast]) -> None:
    with pytest.raises(BadInput, match="has no room for words, its tokens are a WordLevel's; leave --extend out"):
        check_extensible(foreign("wordlevel"))


def test_what_is_more_than_one_word_has_no_unit(make_model: Callable[..., Path]) -> None:
    tokenizer = load_tokenizer(make_model("bert", "wordpiece"))
    assert word_unit(tokenizer, "two words") is None and word_unit(tokenizer, "half-done") is None
