"""Say how alike two texts are: the cosine of their vectors follows people's scores.

    CoSENT      L = log(1 + Σ_{s_i > s_j} exp(20 · (cos_j − cos_i)))      of all pairs i, j of a step
    cosine      L = Σ_i (cos_i − s_i)² / N                                scores brought to 0 … 1

CoSENT (Su 2022, https://kexue.fm/archives/8847) asks only that more alike pairs have the higher cosine, which is what a
rank correlation measures. It compares every pair of a step with every other, so it is computed in two passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.objectives.coupled import CoupledObjective
from unmask.objectives.objective import Objective, Outcome
from unmask.objectives.text_vectors import mean_vectors
from unmask.records import Reals
from unmask.task_batches import ScoredBatch

SCALE = 20.0


@dataclass(frozen=True)
class CoSENT(CoupledObjective[PreTrainedModel, ScoredBatch]):
    """Put the pairs of a step in the order of their scores."""

    scale: float = SCALE

    name = "cosent"
    paper = "CoSENT, Su 2022"

    @property
    def terms(self) -> Mapping[str, float]:
        """One term."""
        return {"pairs": 1.0}

    def counts(self, batch: ScoredBatch) -> dict[str, int]:
        """Pairs: the loss of a step, which is one number, is counted once for each."""
        return {"pairs": len(batch.scores)}

    def represent(self, learner: PreTrainedModel, batch: ScoredBatch) -> Tensor:
        """B 1: the cosine of each pair."""
        return pair_cosines(learner, batch).unsqueeze(1)

    def targets(self, batch: ScoredBatch) -> Reals:
        """B 1: the scores."""
        return batch.scores[:, None]

    def joint_outcome(self, representations: Tensor, targets: Tensor) -> Outcome:
        """The loss of all pairs, once for each."""
        cosines, scores = representations[:, 0] * self.scale, targets[:, 0]
        gaps = cosines.unsqueeze(0) - cosines.unsqueeze(1)  # i j: by how much j is above i
        wrong = gaps[scores.unsqueeze(1) > scores.unsqueeze(0)]
        loss = torch.logsumexp(torch.cat((wrong.new_zeros(1), wrong)), 0)
        return Outcome({"pairs": loss * len(cosines)})


@dataclass(frozen=True)
class CosineRegression(Objective[PreTrainedModel, ScoredBatch]):
    """Make the cosine of a pair its score."""

    low: float = 0.0  # the score that is to be a cosine of 0
    high: float = 1.0  # and the one of 1

    name = "cosine"
    paper = "Sentence-BERT, Reimers & Gurevych 2019, https://arxiv.org/abs/1908.10084"

    @property
    def terms(self) -> Mapping[str, float]:
        """One term."""
        return {"pairs": 1.0}

    def counts(self, batch: ScoredBatch) -> dict[str, int]:
        """Pairs."""
        return {"pairs": len(batch.scores)}

    def outcome(self, learner: PreTrainedModel, batch: ScoredBatch) -> Outcome:
        """The summed squared error."""
        cosines = pair_cosines(learner, batch)
        wanted = (torch.from_numpy(batch.scores) - self.low) / (self.high - self.low)
        return Outcome({"pairs": F.mse_loss(cosines, wanted.to(cosines.device, cosines.dtype), reduction="sum")})


def pair_cosines(model: PreTrainedModel, batch: ScoredBatch) -> Tensor:
    """B: the cosine of the two vectors of each pair."""
    first, second = mean_vectors(model, batch.texts).split(len(batch.scores))
    return F.cosine_similarity(first, second)
