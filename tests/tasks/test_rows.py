"""Rows are what transformers reads of the same text, and no token of a long one is left out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from unmask.errors import BadInput
from unmask.tasks.rows import RowReader, row_length
from unmask.tasks.text_rows import TextRows
from unmask.tokens.tokenizer.load import load_tokenizer

TEXT, OTHER = "The king sees the garden.", "Nobody likes clouds."


def row(rows: TextRows, number: int) -> list[int]:
    ends = [0, *rows.ends.tolist()]
    return rows.ids[ends[number] : ends[number + 1]].tolist()


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "foreign"])
def test_a_short_text_and_a_short_pair_are_read_as_transformers_reads_them(
    kind: str, make_model: Callable[..., Path]
) -> None:
    tokenizer = load_tokenizer(make_model(kind=kind))
    reader = RowReader(tokenizer, 64)
    assert row(reader.read([TEXT]), 0) == tokenizer(TEXT).input_ids
    pair = reader.read([TEXT], [OTHER])
    if kind != "foreign":  # whose file says nothing of pairs
        expected = tokenizer(TEXT, OTHER, return_token_type_ids=True)
        assert row(pair, 0) == expected.input_ids and pair.types.tolist() == expected.token_type_ids
    assert pair.tokens.tolist() == [len(row(pair, 0)) - reader.frames[True].size]


def test_a_tokenizer_that_pads_and_cuts_every_text_puts_no_padding_into_rows(
    make_model: Callable[..., Path], tmp_path: Path
) -> None:
    plain = make_model()
    shutil.copytree(plain, tmp_path / "padding")
    tokenizer = Tokenizer.from_file(str(plain / "tokenizer.json"))
    tokenizer.enable_padding(length=40)  # as sentence encoders are published, MiniLM among them
    tokenizer.enable_truncation(40)
    tokenizer.save(str(tmp_path / "padding" / "tokenizer.json"))
    padding, without = (RowReader(load_tokenizer(path), 32) for path in (tmp_path / "padding", plain))
    assert padding.frames == without.frames
    texts = [TEXT, " ".join([TEXT] * 30)]
    for seconds in (None, [OTHER, OTHER]):
        one, other = padding.read(texts, seconds), without.read(texts, seconds)
        assert one.ids.tolist() == other.ids.tolist() and one.ends.tolist() == other.ends.tolist()


def read_tokens(reader: RowReader, rows: TextRows) -> set[int]:
    """The ids that stand in some row."""
    return set(rows.ids.tolist()) - {*reader.vocabulary.special}


@pytest.mark.parametrize(("first", "second"), [(400, None), (400, 5), (5, 400), (300, 200)])
def test_no_token_of_a_long_text_or_pair_is_left_out(
    first: int, second: int | None, make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = RowReader(load_tokenizer(make_model()), 32)
    frame = reader.frames[second is not None]
    numbers = np.arange(1000, 1000 + first, dtype=np.int32)
    others = None if second is None else np.arange(5000, 5000 + second, dtype=np.int32)
    made = [ids for ids, _ in reader._rows(frame, numbers, others)]
    assert max(map(len, made)) <= 32
    assert {*np.concatenate(made).tolist()} >= {*numbers.tolist(), *([] if others is None else others.tolist())}
    if second == 5 or first == 5:
        short = numbers if first == 5 else others
        assert all(set(short.tolist()) <= set(ids.tolist()) for ids in made)  # type: ignore[union-attr]


def test_lengths_that_no_row_can_have_are_refused(make_model: Callable[..., Path]) -> None:
    with pytest.raises(BadInput, match="--length 6: a row has no room for text; give at least 11"):
        RowReader(load_tokenizer(make_model()), 6)
    with pytest.raises(BadInput, match="--length 600: this model takes rows of 128 tokens"):
        row_length(600, 128)
    assert [row_length(None, None), row_length(None, 128), row_length(64, 128), row_length(None, 8192)] == [
        512,
        128,
        64,
        512,
    ]
