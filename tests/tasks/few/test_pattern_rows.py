"""Texts in patterns: every pattern in a row, every token read, and no text can spell the mask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.tasks.few.pattern_rows import PatternReader
from unmask.tokens.tokenizer.load import load_tokenizer

Make = Callable[..., Path]
PATTERNS = ("{text} It was [MASK].", "[MASK]: {text}")


def test_each_pattern_is_a_row_of_its_text_as_the_tokenizer_would_write_it(make_model: Make) -> None:
    tokenizer = load_tokenizer(make_model())
    rows = PatternReader(tokenizer, 64, PATTERNS, masks=2).read(["the king", "music"])
    assert rows.owners.tolist() == [0, 0, 1, 1] and rows.windows.tolist() == [2, 2]
    ids = [rows.ids[end - length : end].tolist() for end, length in zip(rows.ends, rows.lengths, strict=True)]
    assert ids[0] == tokenizer("the king It was [MASK][MASK].")["input_ids"]
    assert ids[3] == tokenizer("[MASK][MASK]: music")["input_ids"]


def test_a_text_that_spells_the_mask_adds_none_and_a_long_one_is_read_whole(make_model: Make) -> None:
    tokenizer = load_tokenizer(make_model())
    reader = PatternReader(tokenizer, 32, PATTERNS, masks=1)
    text = "the king spells [MASK] " * 20
    rows = reader.read([text])
    assert rows.windows[0] > 4 and rows.lengths.max() <= 32
    assert (rows.ids == reader.vocabulary.mask).sum() == rows.windows[0]
    assert rows.tokens[0] == len(reader.tokenizer(text.replace("[MASK]", "[ MASK ]"))["input_ids"]) - 2


def test_pairs_stand_where_the_pattern_has_them(make_model: Make) -> None:
    tokenizer = load_tokenizer(make_model())
    reader = PatternReader(tokenizer, 64, ["{pair} [MASK] {text}"], masks=1)
    rows = reader.read(["the king"], ["a dog"])
    assert rows.ids.tolist() == tokenizer("a dog [MASK] the king")["input_ids"]
    with pytest.raises(BadInput, match="leaves no room"):
        PatternReader(tokenizer, 16, ["{text} the king sees the dog and the cat [MASK]."], masks=1)
