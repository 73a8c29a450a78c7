"""Batches are a function of their numbers, and every epoch has every example once."""

from __future__ import annotations

import pickle

import numpy as np

from unmask.tasks.classify.batches import LabelledBatches
from unmask.tasks.order import ExampleOrder
from unmask.tasks.text_rows import TextRows


def rows(lengths: list[list[int]]) -> TextRows:
    """Texts with rows of these lengths; the ids say which text and which row."""
    flat = [(text, row, length) for text, each in enumerate(lengths) for row, length in enumerate(each)]
    ids = np.concatenate([np.full(length, 10 * text + row + 1, np.int32) for text, row, length in flat])
    ends = np.cumsum([length for _, _, length in flat])
    owners = np.array([text for text, _, _ in flat])
    tokens = np.array([sum(each) for each in lengths])
    return TextRows(ids, np.zeros_like(ids), ends, owners, tokens, pad=0, limit=40)


def batches(count: int = 23, batch_size: int = 5) -> LabelledBatches:
    lengths = [[3 + n % 7] if n % 5 else [6, 4] for n in range(count)]
    made = rows(lengths)
    order = ExampleOrder(work=made.work, batch_size=batch_size, seed=3)
    return LabelledBatches(rows=made, targets=np.eye(count), order=order)


def test_every_epoch_has_every_example_once_in_another_order() -> None:
    made = batches()
    orders = [made.order.examples(epoch * 23, (epoch + 1) * 23).tolist() for epoch in range(4)]
    assert all(sorted(order) == list(range(23)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4


def test_a_step_is_the_same_however_it_is_cut_and_asked_for() -> None:
    made, again = batches(), pickle.loads(pickle.dumps(batches()))
    whole = made.batch((20, 30))
    parts = [again.batch((20, 23)), again.batch((23, 30))]
    assert np.array_equal(whole.targets, np.concatenate([part.targets for part in parts]))
    assert whole.tokens == sum(part.tokens for part in parts)
    cut = list(whole.cut(4))
    assert np.array_equal(whole.targets, np.concatenate([part.targets for part in cut]))
    assert [part.predictions for part in cut] == [3, 3, 2, 2] and all(part.owners[0] == 0 for part in cut)
    assert sum(part.tokens for part in cut) == whole.tokens


def test_rows_of_a_text_stay_together_and_are_padded() -> None:
    batch = batches().batch((0, 5))
    texts = batch.targets.argmax(1)
    for row, owner in enumerate(batch.owners):
        real = batch.ids[row][batch.real[row] == 1]
        assert set((real - 1) // 10) == {texts[owner]}
    assert batch.ids.shape[1] == 4 * -(-batch.real.sum(1).max() // 4) and (batch.ids[batch.real == 0] == 0).all()


def test_steps_have_texts_of_like_length() -> None:
    draw = np.random.default_rng(0)
    lengths = [[int(length)] for length in draw.integers(3, 40, size=640)]
    order = ExampleOrder(work=rows(lengths).work, batch_size=16, seed=0)
    spread = [np.ptp([lengths[n][0] for n in order.examples(16 * k, 16 * k + 16)]) for k in range(40)]
    assert np.mean(spread) < 10  # of 37
