"""Laws of how many tokens words have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.inference.words import LONGEST, WordLengths, count_lengths, word_lengths
from unmask.models.load import load_model
from unmask.tokens.tokenizer.encode import encode

Make = Callable[..., Path]


def test_words_are_counted_by_their_tokens_and_signs_are_none() -> None:
    starts = np.array([1, 0, 0, 1, 1, 1, 0, 1], np.bool_)
    ids = np.arange(8, dtype=np.int32)
    wordlike = np.array([1, 0, 0, 0, 1, 1, 0, 1], np.bool_)  # the fourth token is a sign; the last word may go on
    assert count_lengths(ids, starts, wordlike)[:4].tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_without_the_data_the_text_and_the_vocabulary_say_how_long_words_are(kind: str, make_model: Make) -> None:
    loaded = load_model(make_model(kind=kind))
    short, long = ("the king sees the dog " * 100, "kingdog unbelievables dogking " * 100)
    shares = []
    for text in (short, long):
        (encoded,) = encode(loaded.tokenizer, [text])
        lengths = word_lengths(loaded, encoded.ids, encoded.word_starts)
        assert lengths.source == "the words of the text, and the vocabulary"
        assert len(lengths.shares) == LONGEST and sum(lengths.shares) == pytest.approx(1) and min(lengths.shares) > 0
        shares.append(lengths.shares[0])
    assert shares[0] > 0.6 > shares[1]


def test_a_run_s_own_data_says_how_long_words_are_while_it_is_what_the_run_was_trained_on(
    data: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    unmask.pretrain(data, out=run, recipe="tiny", steps=1)
    loaded = load_model(run)
    (encoded,) = encode(loaded.tokenizer, ["unbelievables"])
    lengths = word_lengths(loaded, encoded.ids, encoded.word_starts)
    assert lengths.source == f"the training data, {data.resolve()}"
    (filled,) = unmask.fill(run, "The [MASK:word] sees.")
    assert filled.word_lengths == lengths.source
    description = json.loads((run / "run.json").read_text())
    assert description["places"]["data"] == str(data.resolve())


def test_very_long_words_share_the_last_length() -> None:
    lengths = WordLengths((0.5, *[0.5 / (LONGEST - 1)] * (LONGEST - 1)), "")
    assert lengths.log_share(1) == pytest.approx(np.log(0.5))
    assert lengths.log_share(1_000) == lengths.log_share(LONGEST)
