"""Say which label a text has, or which several.

    one label         L = −Σ_i w(y_i) log softmax(z_i)[y_i]              / N
    several labels    L = −Σ_i Σ_c log σ(±z_ic), + where c holds          / (N · C)

z_i is the mean of the logits over the windows that text i is read in. w is 1, or, where classes are uneven, a weight
for each class with mean 1 over the examples: it is part of the sum, and the number of texts is what the sum is divided
by, so that the micro-batches a step is cut into change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.objectives.objective import Objective, Outcome
from unmask.objectives.row_outputs import row_outputs
from unmask.records import Reals
from unmask.task_batches import LabelledBatch


@dataclass(frozen=True)
class Classification(Objective[PreTrainedModel, LabelledBatch]):
    """Tell labels apart."""

    several: bool = False
    weights: tuple[float, ...] | None = None  # C, where classes are uneven

    name = "classification"
    paper = "cross-entropy over the mean of a text's windows"

    @property
    def terms(self) -> Mapping[str, float]:
        """One term."""
        return {"labels": 1.0}

    @property
    def tally_sizes(self) -> Mapping[str, int]:
        """How many were right."""
        return {"right": 1}

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """Texts, or for several labels decisions."""
        return {"labels": batch.targets.size if self.several else len(batch.targets)}

    def outcome(self, learner: PreTrainedModel, batch: LabelledBatch) -> Outcome:
        """The summed cross-entropy of a batch, and how many labels are right."""
        logits = text_logits(learner, batch)
        targets = torch.from_numpy(batch.targets).to(logits.device, logits.dtype)
        if self.several:
            loss = F.binary_cross_entropy_with_logits(logits, targets, reduction="sum")
            return Outcome({"labels": loss}, {"right": ((logits > 0) == (targets > 0)).sum()})
        weights = None if self.weights is None else logits.new_tensor(self.weights)
        expected = targets.argmax(1)
        loss = F.cross_entropy(logits, expected, weight=weights, reduction="sum")
        return Outcome({"labels": loss}, {"right": (logits.argmax(1) == expected).sum()})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """The share that was right."""
        return {"accuracy": float(tallies["right"][0]) / max(1.0, counts["labels"])}


def text_logits(model: PreTrainedModel, batch: LabelledBatch) -> Tensor:
    """B C: the mean of the logits over the rows of each text, in float32."""
    by_row = row_outputs(model, batch, lambda answer: answer.logits)
    owners = torch.from_numpy(batch.owners).to(by_row.device)
    sums = by_row.new_zeros(len(batch.targets), by_row.shape[1]).index_add(0, owners, by_row)
    return sums / torch.bincount(owners, minlength=len(batch.targets)).unsqueeze(1)
