from __future__ import annotations

import numpy as np
import pytest

from unmask.corpus.near import signatures
from unmask.corpus.near.shingles import Shingles
from unmask.corpus.near.signatures import band_keys


def pairs(similarity: float, count: int, size: int = 120) -> tuple[Shingles, Shingles]:
    """Sets of hashes of which so many pairs have this Jaccard similarity."""
    random = np.random.default_rng(7)
    shared = round(2 * size * similarity / (1 + similarity))
    one = random.integers(0, 1 << 63, (count, size), dtype=np.uint64)
    other = random.integers(0, 1 << 63, (count, size), dtype=np.uint64)
    other[:, :shared] = one[:, :shared]
    ends = np.arange(1, count + 1) * size
    return Shingles(one.ravel(), ends), Shingles(other.ravel(), ends)


@pytest.mark.parametrize("similarity", [0.5, 0.7, 0.85])
def test_texts_share_a_key_as_often_as_the_formula_says(similarity: float) -> None:
    one, other = (band_keys(shingles) for shingles in pairs(similarity, 1_500))
    expected = 1 - (1 - similarity**8) ** 16
    assert (one == other).any(axis=1).mean() == pytest.approx(
        expected, abs=4 * (expected * (1 - expected) / 1_500) ** 0.5
    )


def test_blocks_and_texts_without_shingles_change_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    (shingles, _) = pairs(0.5, 20)
    keys = band_keys(shingles)
    gaps = Shingles(shingles.hashes, np.repeat(shingles.ends, 2))
    monkeypatch.setattr(signatures, "BLOCK", 300)
    assert (band_keys(shingles) == keys).all()
    assert (band_keys(gaps)[::2] == keys).all()
