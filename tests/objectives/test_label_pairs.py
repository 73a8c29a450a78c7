"""The loss of pairs, against a computation written out."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from unmask.objectives.label_pairs import pair_loss


def test_both_kinds_of_pairs_weigh_alike_and_the_loss_is_the_squared_error_of_cosines() -> None:
    vectors = F.normalize(torch.randn(5, 8, generator=torch.manual_seed(0)), dim=-1)
    labels = torch.tensor([0, 0, 1, 2, 0])
    same, other = [], []
    for one in range(5):
        for two in range(one + 1, 5):
            cosine = float(vectors[one] @ vectors[two])
            if labels[one] == labels[two]:
                same.append((cosine - 1) ** 2)
            else:
                other.append(cosine**2)
    assert (len(same), len(other)) == (3, 7)
    mean = (sum(same) / 3 + sum(other) / 7) / 2
    assert float(pair_loss(vectors, labels)) / 10 == pytest.approx(mean, rel=1e-5)


def test_it_is_nothing_where_labels_are_told_apart_and_finite_where_there_is_one_kind_of_pair_or_none() -> None:
    apart = torch.eye(3)[[0, 1, 0, 2]]
    assert float(pair_loss(apart, torch.tensor([0, 1, 0, 2]))) == 0
    assert float(pair_loss(apart, torch.tensor([0, 0, 0, 0]))) == pytest.approx(5)
    assert float(pair_loss(apart[:1], torch.tensor([0]))) == 0
