"""Laws of what models are measured on: every held-out token once, the same ones hidden in batches of any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unmask.records import Vocabulary
from unmask.tokens.held_out import HeldOut, HeldOutSet
from unmask.tokens.pack import AROUND
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.shards import Shards


@pytest.fixture(scope="module")
def stream(data: Path) -> Shards:
    return Dataset.open(data).split("valid")


@pytest.fixture(scope="module")
def vocabulary(data: Path) -> Vocabulary:
    return Dataset.open(data).vocabulary


def rows(batches: list[HeldOut]) -> dict[int, tuple[list[int], list[int]]]:
    """The ids of each row as the model sees them, and what is hidden in it, by the row's number."""
    found = {}
    for each in batches:
        for row, number in enumerate(each.blocks.numbers.tolist()):
            real = each.blocks.documents[row] > 0
            found[number] = (
                each.corrupted.ids[row, real].tolist(),
                np.flatnonzero(each.corrupted.hidden[row]).tolist(),
            )
    return found


def test_batches_of_any_size_give_the_same_examples_and_none_is_over_the_size(
    stream: Shards, vocabulary: Vocabulary
) -> None:
    examples = HeldOutSet.of(stream, vocabulary, length=32)
    small, large = list(examples.batches(100)), list(examples.batches(10_000))
    assert len(small) > len(large)
    assert max(each.batch.ids.size for each in small) <= 100
    assert rows(small) == rows(large)


def test_every_held_out_token_is_measured_on_once(stream: Shards, vocabulary: Vocabulary) -> None:
    examples = HeldOutSet.of(stream, vocabulary, length=32, policy=None)
    batches = list(examples.batches())
    assert sum(each.batch.tokens for each in batches) == examples.tokens + AROUND * len(rows(batches))
    assert examples.tokens == stream.tokens
    text = [token for _, (ids, hidden) in sorted(rows(batches).items()) for token in ids[1:-1] if not hidden]
    assert text == stream.read(0, stream.tokens)[0].tolist()


def test_a_limit_takes_an_even_sample_of_the_same_examples(stream: Shards, vocabulary: Vocabulary) -> None:
    examples = HeldOutSet.of(stream, vocabulary, length=32)
    every, sample = rows(list(examples.batches())), rows(list(examples.batches(limit=-(-stream.tokens // 3))))
    assert sample == {number: row for number, row in every.items() if number % 3 == 0}
