"""Laws of where tokens can stand: words after spaces, what goes on with a word after letters, by any tokenizer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from unmask.tokens.tokenizer.boundaries import token_boundaries
from unmask.tokens.tokenizer.encode import encode

Trained = Callable[[str], PreTrainedTokenizerFast]
TEXTS = [
    "The king understands the unbelievable capital of France, of course.",
    "Nobody (the dog) likes “music” and bread-and-butter; it rains!",
    "ฉันชอบแมว 猫が好きです。 नमस्ते दुनिया",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_token_is_allowed_where_the_tokenizer_itself_puts_it(kind: str, trained: Trained, text: str) -> None:
    tokenizer = trained(kind)
    boundaries = token_boundaries(tokenizer)
    encoded = encode(tokenizer, [text], offsets=True)[0]
    assert encoded.offsets is not None
    last_end = 0
    bare = False  # a space that is a token of its own: the mask of what follows would not take it with it
    for token, (begin, end) in zip(encoded.ids.tolist(), encoded.offsets.tolist(), strict=True):
        space = text[begin:end][:1].isspace()  # which the mask takes with it
        in_character = begin < last_end  # the rest of one that is cut in two
        if not bare and not in_character and not boundaries.bare[token] and token != tokenizer.unk_token_id:
            before = text[: begin + space]
            assert boundaries.allowed(before)[token], (before, tokenizer.convert_ids_to_tokens(token))
        last_end = end
        bare = bool(boundaries.bare[token])


def spelt(tokenizer: PreTrainedTokenizerFast, before: str | None) -> set[str]:
    return set(tokenizer.convert_ids_to_tokens(np.flatnonzero(token_boundaries(tokenizer).allowed(before)).tolist()))


def test_wordpiece_marks_what_goes_on(trained: Trained) -> None:
    tokenizer = trained("wordpiece")
    for before in ("the ", "", "(", "the “", "the\n"):
        assert not any(token.startswith("##") for token in spelt(tokenizer, before))
        assert {"the", "."} <= spelt(tokenizer, before)
    for before in ("un", "é", "7", "नमस्ते"):
        assert "the" not in spelt(tokenizer, before)
        assert {"##s", "."} <= spelt(tokenizer, before)


@pytest.mark.parametrize(("kind", "mark"), [("bpe", "Ġ"), ("unigram", "▁")])
def test_byte_level_bpe_and_unigram_mark_what_begins(kind: str, mark: str, trained: Trained) -> None:
    tokenizer = trained(kind)
    after_space = spelt(tokenizer, "the ")
    assert {f"{mark}the", "."} <= after_space and mark not in after_space
    assert not any(token.isascii() and token[0].isalnum() for token in after_space - {*tokenizer.all_special_tokens})
    after_letters = spelt(tokenizer, "un")
    assert {"s", "."} <= after_letters and not any(token.startswith(mark) for token in after_letters)
    assert {f"{mark}the", "s", "."} <= spelt(tokenizer, "(")
    assert ("s" in spelt(tokenizer, "")) == (kind == "bpe"), "Unigram writes the first word as any other"


def test_where_scripts_have_no_spaces_every_piece_may_follow(trained: Trained, kind: str) -> None:
    tokenizer = trained(kind)
    (row,) = encode(tokenizer, ["猫が好き"], offsets=False)
    allowed = token_boundaries(tokenizer).allowed("猫")
    assert allowed[row.ids[1:]].all()


def test_after_another_blank_everything_can_stand_but_a_bare_space(trained: Trained, kind: str) -> None:
    boundaries = token_boundaries(trained(kind))
    assert (boundaries.allowed(None) == ~boundaries.bare).all()


def test_a_vocabulary_of_whole_words_says_nothing_of_places(foreign: Trained) -> None:
    boundaries = token_boundaries(foreign("wordlevel"))
    for before in ("the ", "un", "(", "", "猫"):
        assert (boundaries.allowed(before) == ~boundaries.bare).all()
