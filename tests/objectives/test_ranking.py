"""In-batch negatives, against the formula written out."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
import torch

from unmask.objectives.ranking import ANSWER, OTHER, QUERY, InBatchNegatives, Judgments

# two queries, each with its answer; the first has a hard negative, which answers the second
VECTORS = torch.tensor([[1.0, 0.2, 0.1], [0.9, 0.9, 0.0], [0.6, 0.5, 0.3], [0.0, 1.0, 0.5], [0.8, 0.9, 0.2]])
TARGETS = torch.tensor([[QUERY, 4], [ANSWER, 10], [OTHER, 12], [QUERY, 5], [ANSWER, 11]])
PAIRS = np.array([[4, 10], [5, 11], [5, 12]])


def cosine(one: int, other: int, size: int) -> float:
    return float(torch.cosine_similarity(VECTORS[one, :size], VECTORS[other, :size], dim=0))


def by_hand(size: int) -> float:
    first = [exp(20 * cosine(0, other, size)) for other in (1, 2, 4)]
    second = [exp(20 * cosine(3, other, size)) for other in (4, 1)]  # row 2 is barred: it answers the second too
    return -log(first[0] / sum(first)) - log(second[0] / sum(second))


def test_the_loss_is_its_formula_and_other_answers_of_a_query_are_no_negatives() -> None:
    outcome = InBatchNegatives(Judgments.of(PAIRS, 20)).joint_outcome(VECTORS, TARGETS)
    assert outcome.losses["queries"].item() == pytest.approx(by_hand(3), rel=1e-5)
    assert by_hand(3) > 0.1 and outcome.tallies["right"].item() in (0, 1, 2)


def test_with_dimensions_it_is_the_mean_over_vectors_cut_and_of_length_one_again() -> None:
    outcome = InBatchNegatives(Judgments.of(PAIRS, 20), (2, 1)).joint_outcome(VECTORS, TARGETS)
    expected = (by_hand(3) + by_hand(2) + by_hand(1)) / 3
    assert outcome.losses["queries"].item() == pytest.approx(expected, rel=1e-5)
