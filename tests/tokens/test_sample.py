"""Languages of very different sizes, trained on more evenly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.tokens.pack import AROUND, Pieces, cut_documents, pack_pieces
from unmask.tokens.sample import Sampling, sample_pieces, smoothed_shares

DRAW = np.random.default_rng(0)
GROUPS = np.repeat([0, 1, 2], [4000, 400, 40])  # of documents
PIECES = cut_documents(np.cumsum(DRAW.integers(1, 200, len(GROUPS))), 62)


def tokens(pieces: Pieces) -> np.ndarray:
    return np.bincount(GROUPS[pieces.documents], weights=pieces.lengths, minlength=3)


@pytest.mark.parametrize("alpha", [0.3, 0.7, 1.0])
def test_each_group_has_its_share_to_the_power_of_alpha(alpha: float) -> None:
    before, after = tokens(PIECES), tokens(sample_pieces(PIECES, Sampling(GROUPS, alpha), seed=1, epoch=0))
    wanted = before**alpha / (before**alpha).sum()
    np.testing.assert_allclose(after / after.sum(), wanted, rtol=0.02)
    np.testing.assert_allclose(after.sum(), before.sum(), rtol=0.01)


def test_every_epoch_has_as_many_blocks_and_other_pieces() -> None:
    epochs = [sample_pieces(PIECES, Sampling(GROUPS), seed=1, epoch=epoch) for epoch in range(4)]
    lengths = [sorted(pieces.lengths) for pieces in epochs]
    assert all(each == lengths[0] for each in lengths)
    assert len({pack_pieces(pieces, 64, seed=1, epoch=n).blocks for n, pieces in enumerate(epochs)}) == 1
    chosen = [set(pieces.starts[GROUPS[pieces.documents] == 0]) for pieces in epochs]
    assert all(len(chosen[0] & other) < 0.8 * len(chosen[0]) for other in chosen[1:])


def test_an_epoch_is_a_function_of_the_seed_and_its_number() -> None:
    one, same, other = (sample_pieces(PIECES, Sampling(GROUPS), seed=seed, epoch=3) for seed in (1, 1, 2))
    assert np.array_equal(one.starts, same.starts) and not np.array_equal(one.starts, other.starts)


def test_what_is_rare_is_repeated_evenly_and_what_is_frequent_never() -> None:
    chosen = sample_pieces(PIECES, Sampling(GROUPS), seed=1, epoch=0)
    times = np.bincount(np.searchsorted(PIECES.starts, chosen.starts), minlength=len(PIECES.starts))
    group = GROUPS[PIECES.documents]
    assert times[group == 0].max() == 1 and times[group == 0].min() == 0
    assert times[group == 2].min() >= 1 and times[group == 2].mean() > 10


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=40), st.sampled_from([0.0, 0.3, 1.0]))
def test_every_piece_is_one_of_the_text(documents: list[tuple[int, int]], alpha: float) -> None:
    groups = np.array([group for group, _ in documents], dtype=np.int64)
    pieces = cut_documents(np.cumsum([length for _, length in documents], dtype=np.int64), 8 - AROUND)
    chosen = sample_pieces(pieces, Sampling(groups, alpha), seed=0, epoch=0)
    there = set(zip(pieces.starts, pieces.lengths, pieces.documents, strict=True))
    assert set(zip(chosen.starts, chosen.lengths, chosen.documents, strict=True)) <= there
    if alpha == 1:
        assert sorted(chosen.starts) == sorted(pieces.starts)


def test_shares_add_up_and_grow_with_size() -> None:
    shares = smoothed_shares(np.array([10, 1000, 0, 100_000]))
    assert shares.sum() == pytest.approx(1) and shares[2] == 0 and shares[0] < shares[1] < shares[3] < 0.8
