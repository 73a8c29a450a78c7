from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.dedup import Digests
from unmask.corpus.split import held_out

FRACTIONS = [0.001, 0.01, 0.1, 0.5, 0.99]
documents = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30, unique=True)


def digests(places: list[int]) -> Digests:
    return np.array([[place, 7] for place in places], dtype=np.uint64).reshape(-1, 2)


@given(documents, st.sampled_from(FRACTIONS))
def test_of_two_documents_or_more_at_least_one_is_on_each_side(places: list[int], fraction: float) -> None:
    valid = held_out(digests(places), fraction)
    assert not valid.all() or len(places) == 1
    assert valid.any() or len(places) == 1


@given(documents, st.randoms(), st.sampled_from(FRACTIONS))
def test_the_side_does_not_depend_on_the_order(places: list[int], draw: Random, fraction: float) -> None:
    shuffled = draw.sample(places, len(places))
    sides = dict(zip(places, held_out(digests(places), fraction).tolist(), strict=True))
    assert held_out(digests(shuffled), fraction).tolist() == [sides[place] for place in shuffled]


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_documents_that_are_added_move_none_of_those_already_there(fraction: float) -> None:
    places = np.random.default_rng(0).integers(0, 2**64, size=20_000, dtype=np.uint64).tolist()
    before = held_out(digests(places[:10_000]), fraction)
    after = held_out(digests(places), fraction)
    assert (after[:10_000] == before).all()
    assert after.mean() == pytest.approx(fraction, abs=4 * (fraction / 20_000) ** 0.5)


def test_a_lone_document_is_for_training() -> None:
    assert held_out(digests([2**63]), 0.01).tolist() == [False]
    assert held_out(digests([]), 0.01).tolist() == []
