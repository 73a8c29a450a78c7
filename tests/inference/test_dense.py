from __future__ import annotations

import numpy as np
import pytest

from unmask.errors import Damaged
from unmask.inference import dense
from unmask.inference.dense import nearest, pairs_above

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(50, 6)).astype(np.float32)


def test_the_nearest_over_blocks_are_those_over_all() -> None:
    queries = RNG.normal(size=(4, 6)).astype(np.float32)
    blocks = [(begin, ROWS[begin : begin + 7]) for begin in range(0, 50, 7)]
    for query, (numbers, scores) in zip(queries, nearest(queries, blocks, 10), strict=True):
        order = np.argsort(-(ROWS @ query), kind="stable")[:10]
        np.testing.assert_array_equal(numbers, order)
        np.testing.assert_allclose(scores, (ROWS @ query)[order], rtol=1e-5)
    assert [len(numbers) for numbers, _ in nearest(queries, blocks, 99)] == [50] * 4


@pytest.mark.parametrize("tile", [3, 16, 64])
def test_each_pair_above_a_cosine_is_found_once_whatever_the_tiles(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "TILE", tile)
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    cosines = unit @ unit.T
    expected = {(i, j) for i in range(50) for j in range(i + 1, 50) if cosines[i, j] >= 0.5}
    found, looked_at = [], 0
    for pairs, values, compared in pairs_above([ROWS[:20] * 3, ROWS[20:]], 0.5):  # lengths do not matter
        found += [tuple(pair) for pair in pairs.tolist()]
        looked_at += compared
        np.testing.assert_allclose(values, cosines[pairs[:, 0], pairs[:, 1]], atol=1e-5)
    assert len(found) == len(set(found)) and set(found) == expected and len(expected) > 10
    assert looked_at == pytest.approx(50 * 50 / 2, rel=0.1)


def test_numbers_that_are_not_finite_are_damage() -> None:
    broken = ROWS.copy()
    broken[30, 2] = np.nan
    with pytest.raises(Damaged, match="not all are finite"):
        nearest(ROWS[:1], [(0, broken)], 3)
    with pytest.raises(Damaged, match="not all are finite"):
        list(pairs_above([broken], 0.5))
