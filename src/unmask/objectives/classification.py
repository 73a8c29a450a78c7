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
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from unmask.objectives.objective import Objective, Outcome, device_of
from unmask.records import LabelledBatch, Reals

AT_ONCE = 16_384  # tokens in a forward pass whose inside is kept; of a longer batch it is computed again in backward


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
    device = device_of(model)
    arrays = {"input_ids": batch.ids, "attention_mask": batch.real, "token_type_ids": batch.types}
    inputs = {name: torch.from_numpy(array).to(device) for name, array in arrays.items() if array is not None}
    rows, width = batch.ids.shape
    at_once = max(1, AT_ONCE // width)

    def forward(part: dict[str, Tensor]) -> Any:
        return model(**part).logits

    chunks = [
        {name: each[begin : begin + at_once] for name, each in inputs.items()} for begin in range(0, rows, at_once)
    ]
    again = len(chunks) > 1 and torch.is_grad_enabled()
    logits = [checkpoint(forward, chunk, use_reentrant=False) if again else forward(chunk) for chunk in chunks]
    by_row = torch.cat(logits).float()
    owners = torch.from_numpy(batch.owners).to(device)
    sums = by_row.new_zeros(len(batch.targets), by_row.shape[1]).index_add(0, owners, by_row)
    return sums / torch.bincount(owners, minlength=len(batch.targets)).unsqueeze(1)
