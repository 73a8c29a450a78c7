"""How a tuned model is measured while it trains and asked afterwards: the same logits, by the same function.

In: a model and texts as rows. Out: logits of texts, and figures on what is held out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.objectives.classification import text_logits
from unmask.records import Integers, Reals
from unmask.results import FigureTitle
from unmask.task_batches import LabelledBatch
from unmask.tasks.asked_once import AskedOnce
from unmask.tasks.classify.calibration import choose_thresholds, decide, macro_f1, mean_loss, probabilities_of
from unmask.tasks.text_rows import TextRows
from unmask.tokens.bucket import batches_by_length
from unmask.training.machine.distributed import ALONE, World

TOKENS, ROWS = 8_192, 64  # in a forward pass at the most, padding among them, or one text
ACCURACY = FigureTitle("accuracy", "Accuracy", better="more", percent=True)
MACRO_F1 = FigureTitle("macro_f1", "Macro F1", better="more", percent=True)
LOSS = FigureTitle("loss", "Loss, nats a label")


@dataclass(frozen=True, eq=False)
class LabelledValidation:
    """Measures on labelled texts that are held out."""

    rows: TextRows
    targets: Reals  # N C
    several: bool
    asked: AskedOnce[Reals] = field(default_factory=AskedOnce, init=False)

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return int(self.rows.work.sum())

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """Accuracy, macro F1 and loss on everything, or on an even sample of about so many tokens."""
        assert isinstance(learner, PreTrainedModel)
        targets = self.targets
        if limit is None:
            logits = self.logits(learner, world)
        else:
            sample = np.arange(0, len(targets), max(1, self.tokens // max(1, limit)))
            logits, targets = logits_of(learner, self.rows, sample, world=world), targets[sample]
        probabilities = probabilities_of(logits, several=self.several)
        thresholds = choose_thresholds(probabilities, targets) if self.several else None
        decisions = decide(probabilities, thresholds)
        return {
            "accuracy": float((decisions == (targets > 0)).all(1).mean()),
            "macro_f1": macro_f1(decisions, targets > 0),
            "loss": mean_loss(logits, targets, several=self.several),
        }

    def logits(self, learner: PreTrainedModel, world: World = ALONE) -> Reals:
        """N C: those of everything."""
        return self.asked(learner, lambda: logits_of(learner, self.rows, world=world))


@torch.no_grad()
def logits_of(
    model: PreTrainedModel,
    rows: TextRows,
    numbers: Integers | None = None,
    *,
    world: World = ALONE,
    pool: Callable[[PreTrainedModel, LabelledBatch], Tensor] = text_logits,
) -> Reals:
    """N C: the logits of texts, the mean over the windows of each; those of like length are computed together."""
    numbers = np.arange(len(rows.tokens)) if numbers is None else numbers
    labels = int(model.config.num_labels or 0)
    logits: Reals = np.zeros((len(numbers), labels))
    was_training = model.training
    model.eval()
    try:
        for places, is_mine in world.padded_share(batches_by_length(rows.work[numbers], tokens=TOKENS, rows=ROWS)):
            found, owners = rows.rows_of(numbers[places])
            ids, real, types = rows.padded(found)
            targets = np.zeros((len(places), labels))
            answers = pool(model, LabelledBatch(ids=ids, real=real, types=types, owners=owners, targets=targets))
            if is_mine:
                logits[places] = answers.double().cpu().numpy()
    finally:
        model.train(was_training)
    if world.size > 1:
        logits = np.array(world.total(*logits.ravel().tolist())).reshape(-1, labels)
    return logits
