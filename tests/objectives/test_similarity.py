"""Losses of scored pairs, against the formulas written out."""

from __future__ import annotations

from itertools import product
from math import exp, log

import numpy as np
import pytest
import torch

from unmask.objectives.similarity import CoSENT

COSINES, SCORES = [0.9, 0.2, 0.5, -0.1], [5.0, 5.0, 1.0, 3.0]


def test_cosent_is_its_formula_over_all_pairs_of_unequal_scores() -> None:
    outcome = CoSENT().joint_outcome(torch.tensor(COSINES)[:, None], torch.tensor(SCORES)[:, None])
    wrong = [exp(20 * (COSINES[j] - COSINES[i])) for i, j in product(range(4), repeat=2) if SCORES[i] > SCORES[j]]
    assert len(wrong) == 5
    assert outcome.losses["pairs"].item() / 4 == pytest.approx(log(1 + sum(wrong)), rel=1e-6)


def test_pairs_of_one_score_have_no_order_and_no_loss() -> None:
    outcome = CoSENT().joint_outcome(torch.tensor(COSINES)[:, None], torch.full((4, 1), 2.0))
    assert outcome.losses["pairs"].item() == 0


def test_only_the_order_of_scores_counts() -> None:
    losses = [
        CoSENT().joint_outcome(torch.tensor(COSINES)[:, None], torch.from_numpy(scores)[:, None]).losses["pairs"].item()
        for scores in (np.array(SCORES), np.exp(np.array(SCORES)) - 70)
    ]
    assert losses[0] == losses[1]
