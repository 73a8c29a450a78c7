from __future__ import annotations

import numpy as np
import pytest

from unmask.errors import BadInput
from unmask.inference.whitening import Whitening

RNG = np.random.default_rng(0)
SPREAD = np.array([5.0, 3.0, *np.ones(198)])
CONE = (RNG.normal(size=(500, 200)) * SPREAD + 20).astype(np.float32)


def test_the_mean_and_the_strongest_directions_are_gone() -> None:
    whitening = Whitening.fitted([CONE])
    white = whitening(CONE)
    assert whitening.directions.shape == (2, 200)  # a hundredth of the numbers
    np.testing.assert_allclose(white.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(white @ whitening.directions.T, 0, atol=1e-3)
    assert abs(whitening.directions[0, 0]) > 0.9 and abs(whitening.directions[1, 1]) > 0.9
    assert np.abs(white[:, :2]).max() < np.abs(white[:, 2:]).max()  # what was strongest is not, any more


def test_vectors_no_longer_crowd() -> None:
    def mean_cosine(vectors: np.ndarray) -> float:
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return float((unit @ unit.T)[np.triu_indices(len(unit), 1)].mean())

    assert mean_cosine(CONE) > 0.9 and abs(mean_cosine(Whitening.fitted([CONE])(CONE))) < 0.01


def test_blocks_and_what_was_kept_give_the_same() -> None:
    whole, parts = Whitening.fitted([CONE]), Whitening.fitted([CONE[:7], CONE[7:300], CONE[300:]])
    np.testing.assert_allclose(whole(CONE), parts(CONE), atol=1e-4)
    kept = Whitening.of_array(whole.as_array())
    np.testing.assert_array_equal(kept(CONE), whole(CONE))


def test_one_text_is_too_few() -> None:
    with pytest.raises(BadInput, match="needs two at the least"):
        Whitening.fitted([CONE[:1]])
