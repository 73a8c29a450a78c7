"""Bring texts of one label together and those of others apart: what few labels say of many pairs (SetFit).

    L = mean over pairs i < j of  w_ij (cos(v_i, v_j) − [y_i = y_j])²

v is the mean over a text's tokens, of length 1. N examples make N(N−1)/2 pairs; those of a micro-batch are learnt
from. w gives pairs of one label and pairs of two the same weight together, however many there are of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unmask.objectives.objective import Objective, Outcome
from unmask.task_batches import LabelledBatch


@dataclass(frozen=True)
class LabelPairs(Objective[Any, LabelledBatch]):
    """Tell texts of one label from those of others, two by two."""

    name = "label pairs"
    paper = "cosine loss on pairs of labelled texts, SetFit: Tunstall et al. 2022"

    @property
    def terms(self) -> Mapping[str, float]:
        """One term."""
        return {"pairs": 1.0}

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """Pairs."""
        return {"pairs": len(batch.targets) * (len(batch.targets) - 1) // 2}

    def outcome(self, learner: Any, batch: LabelledBatch) -> Outcome:
        """The summed loss of all pairs of a batch."""
        return Outcome({"pairs": pair_loss(learner.vectors(batch), torch.from_numpy(batch.targets).argmax(1))})


def pair_loss(vectors: Tensor, labels: Tensor) -> Tensor:
    """The weighted sum over the pairs of texts, whose vectors, B D, have length 1."""
    first, second = torch.triu_indices(len(vectors), len(vectors), offset=1, device=vectors.device)
    same = (labels.to(vectors.device)[first] == labels.to(vectors.device)[second]).to(vectors.dtype)
    counts = torch.stack((len(same) - same.sum(), same.sum()))
    kinds = (counts > 0).sum().clamp(min=1)
    weights = (len(same) / (kinds * counts.clamp(min=1)))[same.long()]
    errors: Tensor = (vectors[first] * vectors[second]).sum(-1) - same
    return (weights * errors.square()).sum()
