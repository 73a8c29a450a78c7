"""Say which tag each word has.

    L = −Σ_w log softmax(z_w)[y_w] / W

z_w are the logits at the first piece of word w, in the window where it has most context; W is the number of words of
the whole step, so that the micro-batches it is cut into change nothing.
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
from unmask.task_batches import TaggedBatch


@dataclass(frozen=True)
class Tagging(Objective[PreTrainedModel, TaggedBatch]):
    """Tell the tags of words."""

    name = "tagging"
    paper = "cross-entropy at the first piece of each word (Devlin et al. 2019, section 5.3)"

    @property
    def terms(self) -> Mapping[str, float]:
        """One term."""
        return {"tags": 1.0}

    @property
    def tally_sizes(self) -> Mapping[str, int]:
        """How many were right."""
        return {"right": 1}

    def counts(self, batch: TaggedBatch) -> dict[str, int]:
        """Words."""
        return {"tags": len(batch.targets)}

    def outcome(self, learner: PreTrainedModel, batch: TaggedBatch) -> Outcome:
        """The summed cross-entropy of a batch, and how many tags are right."""
        logits = word_logits(learner, batch)
        expected = torch.from_numpy(batch.targets).to(logits.device)
        loss = F.cross_entropy(logits, expected, reduction="sum")
        return Outcome({"tags": loss}, {"right": (logits.argmax(1) == expected).sum()})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """The share of words whose tag was right, most of which are outside."""
        return {"tag_accuracy": float(tallies["right"][0]) / max(1.0, counts["tags"])}


def word_logits(model: PreTrainedModel, batch: TaggedBatch) -> Tensor:
    """P C: the logits of each word's tags, at its first piece, in float32."""
    logits = row_outputs(model, batch, lambda answer: answer.logits)
    rows, columns = (torch.from_numpy(each).to(logits.device) for each in (batch.rows, batch.columns))
    return logits[rows, columns]
