"""A question stands whole in every row, and no token of its context is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unmask.errors import BadInput
from unmask.tasks.answer.batches import question_batch
from unmask.tasks.answer.questions import GoldAnswer, QuestionExample
from unmask.tasks.answer.rows import answer_tokens, read_rows
from unmask.tasks.rows import RowReader
from unmask.tokens.tokenizer.load import load_tokenizer


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_a_short_context_is_read_as_transformers_reads_the_pair(kind: str, make_model: Callable[..., Path]) -> None:
    reader = RowReader(load_tokenizer(make_model(kind=kind)), 64)
    rows = read_rows(reader, ["the king ?"], ["my sister likes music ."])
    expected = reader.tokenizer("the king ?", "my sister likes music .", return_token_type_ids=True)
    assert rows.rows.ids.tolist() == expected.input_ids and rows.rows.types.tolist() == expected.token_type_ids


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "foreign"])
def test_every_token_of_a_long_context_is_in_a_row_behind_the_whole_question(
    kind: str, make_model: Callable[..., Path]
) -> None:
    reader = RowReader(load_tokenizer(make_model(kind=kind)), 32)
    context = " ".join(f"music bread {'clouds ' * (n % 3)}" for n in range(60))
    question = "the king sees ?"
    rows = read_rows(reader, [question, question], ["the sea", context])
    asked, told = (reader.tokenizer(text, add_special_tokens=False).input_ids for text in (question, context))
    seen = np.zeros(len(told), np.bool_)
    for nth, ids in enumerate(np.split(rows.rows.ids, rows.rows.ends[:-1])):
        assert len(ids) <= 32 and " ".join(map(str, asked)) in " ".join(map(str, ids.tolist()))
        if rows.rows.owners[nth] == 1:
            part = slice(rows.begins[nth], rows.begins[nth] + rows.counts[nth])
            assert ids[rows.columns[nth] : rows.columns[nth] + rows.counts[nth]].tolist() == told[part]
            seen[part] = True
    assert seen.all() and rows.rows.windows[1] > 5 and rows.tokens(1) == len(told)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "foreign"])
def test_an_answers_tokens_are_its_words(kind: str, make_model: Callable[..., Path]) -> None:
    reader = RowReader(load_tokenizer(make_model(kind=kind)), 64)
    context = "of course my sister likes old stories again ."
    questions = [
        QuestionExample(str(n), "the king ?", context, answers, 0, 0)
        for n, answers in enumerate(
            [(GoldAnswer("my sister", 10),), (GoldAnswer("old stories", 26),), (GoldAnswer(context, 0),), ()]
        )
    ]
    rows = read_rows(reader, ["the king ?"] * 4, [context] * 4)
    targets = answer_tokens(rows, questions)
    for number, each in enumerate(questions[:3]):
        first, last = targets[number]
        start, end = rows.offsets[number][first, 0], rows.offsets[number][last, 1]
        assert context[start:end] == each.answers[0].text
    assert targets[3].tolist() == [-1, -1]


def test_the_places_of_an_answer_are_marked_in_every_window_that_has_them(make_model: Callable[..., Path]) -> None:
    reader = RowReader(load_tokenizer(make_model()), 24)
    rows = read_rows(reader, ["the king ?"] * 2, ["music " * 40, "music"])
    targets = np.array([[20, 21], [-1, -1]])
    batch = question_batch(rows, targets, np.array([0, 1]), nullable=True)
    tokens = [
        int(rows.begins[row] + column - rows.columns[row]) for row, column in np.argwhere(batch.starts[:-1]).tolist()
    ]
    windows = sum(b <= 20 < b + c for b, c in zip(rows.begins[:-1], rows.counts[:-1], strict=True))
    assert tokens == [20] * windows and windows >= 1 and batch.ends[:-1].sum() >= 1
    assert not batch.starts[-1].any() and not batch.allowed[:, 0].any()
    assert batch.allowed.sum() == rows.counts.sum()


def test_a_question_that_leaves_no_room_for_its_context_is_refused(make_model: Callable[..., Path]) -> None:
    reader = RowReader(load_tokenizer(make_model()), 24)
    with pytest.raises(BadInput, match="the question has 20 tokens, and rows of 24 have room for 11"):
        read_rows(reader, ["the " * 20], ["music"])
