"""Losses that compare the examples of a whole step with each other: in-batch negatives, rankings of pairs.

    representations   r = f(examples), row by row                    what the learner computes, in any number of parts
    joint loss        L(r, targets)                                   over all rows of a step, whoever computed them

Such a loss is not a sum over micro-batches, and must not change with how a step is cut up. So a step is computed in
two passes (GradCache, Gao et al. 2021, https://arxiv.org/abs/2101.06983): every part is represented without gradients;
the joint loss gives its gradients at the representations; then every part is represented again, with the same dropout,
and the gradients go on from there into the weights. `unmask.training.two_passes` does it, for any number of processes.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from unmask.objectives.objective import Examples, Learner, Objective, Outcome
from unmask.records import Reals


class CoupledObjective(Objective[Learner, Examples]):
    """An objective whose loss is over all examples of a step together."""

    @abstractmethod
    def represent(self, learner: Learner, batch: Examples) -> Tensor:
        """R K: what the joint loss is computed from, in float32.

        The rows of a batch are those of its parts, one after the other, and depend on nothing outside of their part.
        """

    @abstractmethod
    def targets(self, batch: Examples) -> Reals:
        """R T: what the joint loss has to know of each row besides, as numbers."""

    @abstractmethod
    def joint_outcome(self, representations: Tensor, targets: Tensor) -> Outcome:
        """The summed losses of a whole step, and tallies."""

    def outcome(self, learner: Learner, batch: Examples) -> Outcome:
        """The same of a batch that is a whole step."""
        representations = self.represent(learner, batch)
        return self.joint_outcome(representations, torch.from_numpy(self.targets(batch)).to(representations.device))
