from __future__ import annotations

import time

import numpy as np

from unmask.corpus.near.families import find_families, sharing
from unmask.corpus.near.shingles import Hashes
from unmask.corpus.near.signatures import BANDS, Keys


def keys(count: int, *together: list[int]) -> Keys:
    """Keys of documents, of which some share all."""
    made = np.arange(count * BANDS, dtype=np.uint64).reshape(count, BANDS)
    for group in together:
        made[group] = made[group[0]]
    return made


def sets(*ranges: tuple[int, int]) -> list[Hashes]:
    return [np.arange(*bounds, dtype=np.uint64) for bounds in ranges]


def test_the_longest_is_kept_and_then_the_first() -> None:
    shingles = sets((0, 100), (0, 101), (0, 101), (500, 600))
    families = find_families(keys(4, [0, 1, 2]), np.array([10, 12, 12, 12]), shingles.__getitem__, 0.8)
    assert families.twins.tolist() == [1, 1, 1, 3]
    assert families.similarity.tolist() == [100 / 101, 1, 1, 1]


def test_a_chain_of_likenesses_carries_nobody_away() -> None:
    # Each is 0.85 like the next, and the first and the third are not: only what is like a kept one goes.
    shingles = sets((0, 100), (8, 108), (16, 116), (24, 124), (32, 132))
    families = find_families(keys(5, [*range(5)]), np.array([50, 40, 30, 20, 10]), shingles.__getitem__, 0.8)
    assert families.twins.tolist() == [0, 0, 2, 2, 4]
    assert families.similarity[[1, 3]].tolist() == [92 / 108, 92 / 108]


def test_what_shares_keys_and_no_shingles_is_kept() -> None:
    shingles = sets((0, 100), (100, 200), (0, 1000))
    assert find_families(keys(3, [0, 1, 2]), np.ones(3), shingles.__getitem__, 0.8).twins.tolist() == [0, 1, 2]


def test_thousands_of_one_template_take_bounded_work() -> None:
    count, calls = 1_500, 0
    bodies = [
        np.concatenate((np.arange(60), np.arange(1000 + 30 * n, 1030 + 30 * n))).astype(np.uint64) for n in range(count)
    ]

    def shingle_set(number: int) -> Hashes:
        nonlocal calls
        calls += 1
        return bodies[number]

    began = time.process_time()
    families = find_families(keys(count, [*range(count)]), np.ones(count), shingle_set, 0.8)
    assert (families.twins == np.arange(count)).all()  # one template with other bodies: none is left out
    assert calls <= 25 * count and time.process_time() - began < 10
    assert sharing(lambda band: keys(count, [*range(count)])[:, band], count).all()
