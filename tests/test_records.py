"""Batches cut by their rows."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from unmask.records import BY_PREDICTION, BY_ROW, Answer, Batch


def batch(rows: int = 5, length: int = 6) -> Batch:
    draw = np.random.default_rng(0)
    hidden = draw.random((rows, length)) < 0.4
    hidden[2] = False  # a row with nothing to predict
    count = int(hidden.sum())
    ids = draw.integers(0, 50, (rows, length))
    answer = Answer(draw.integers(0, 50, (rows, 3)).astype(np.int32), np.ones((rows, 3), np.int32), (7, 8), 0)
    return Batch(
        ids=ids,
        positions=np.broadcast_to(np.arange(length), (rows, length)),
        documents=np.ones((rows, length), dtype=np.int64),
        predicted=np.flatnonzero(hidden),
        targets=draw.integers(0, 50, count),
        numbers=np.arange(rows) + 40,
        edges=draw.integers(0, length, (count, 2)),
        order=draw.integers(0, length, (rows, length)),
        weights=draw.random(rows),
        labels=draw.integers(0, 3, rows),
        answer=answer,
    )


def test_every_field_of_a_batch_is_known_to_be_by_row_or_by_prediction() -> None:
    assert {each.name for each in fields(Batch)} == {*BY_ROW, *BY_PREDICTION, "predicted", "answer"}


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8])
def test_the_parts_of_a_batch_are_the_batch(parts: int) -> None:
    whole = batch()
    pieces = list(whole.cut(parts))
    assert len(pieces) == min(parts, 5)
    for name in (*BY_ROW, *BY_PREDICTION):
        assert np.array_equal(np.concatenate([getattr(piece, name) for piece in pieces]), getattr(whole, name))
    for piece in pieces:
        first = int(piece.numbers[0]) - 40
        assert piece.answer is not None and whole.answer is not None
        assert np.array_equal(piece.answer.ids, whole.answer.ids[first : first + len(piece.ids)])
    places = [piece.predicted + (int(piece.numbers[0]) - 40) * 6 for piece in pieces]
    assert np.array_equal(np.concatenate(places), whole.predicted)


def test_what_a_batch_lacks_its_parts_lack_too() -> None:
    pieces = list(replace(batch(), edges=None, order=None, weights=None, answer=None).cut(2))
    assert len(pieces) == 2 and all(
        piece.edges is piece.order is piece.weights is piece.answer is None for piece in pieces
    )
