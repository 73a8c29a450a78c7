"""The steps of an epoch share neither query nor document, and each example has its turn."""

from __future__ import annotations

import numpy as np

from unmask.tasks.retrieve.batches import DistinctOrder


def order_of(pairs: np.ndarray, size: int, seed: int = 0) -> DistinctOrder:
    return DistinctOrder(work=np.ones(len(pairs), np.int64), batch_size=size, seed=seed, pairs=pairs)


def test_no_query_and_no_document_is_twice_in_a_step_and_over_epochs_all_are_learnt() -> None:
    pairs = np.array([(query, (query * 3 + nth) % 40) for query in range(30) for nth in range(4)])
    order = order_of(pairs, 16)
    assert order.steps == 7
    seen = set()
    for step in range(3 * order.steps):
        numbers = order.examples(step * 16, (step + 1) * 16)
        for column in range(2):
            assert len(set(pairs[numbers, column].tolist())) == 16
        seen.update(numbers.tolist())
    assert seen == set(range(120))
    apart = order_of(np.stack([np.arange(120), np.arange(120)], axis=1), 16)
    assert len(set(apart.examples(0, 7 * 16).tolist())) == 7 * 16


def test_the_order_is_a_function_of_its_numbers_and_the_seed() -> None:
    pairs = np.stack([np.arange(40), np.arange(40)], axis=1)
    whole = order_of(pairs, 8).examples(0, 80).tolist()
    assert [*order_of(pairs, 8).examples(0, 37).tolist(), *order_of(pairs, 8).examples(37, 80).tolist()] == whole
    assert order_of(pairs, 8, seed=1).examples(0, 80).tolist() != whole and whole[:40] != whole[40:]


def test_where_one_document_answers_everything_steps_are_full_all_the_same() -> None:
    pairs = np.stack([np.arange(12), np.zeros(12, np.int64)], axis=1)
    assert sorted(order_of(pairs, 4).examples(0, 12).tolist()) == list(range(12))
