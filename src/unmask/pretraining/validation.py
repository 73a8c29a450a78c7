"""How a pretrained model is measured while it trains: on the fixed masks, and in its objective's own way.

In: an objective and held-out text. Out: figures. The masks are fixed by the text, the tokenizer, the length and the
seed, so that every model and every run restores the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import exp, nan
from typing import Any

import torch
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.objectives import mlm
from unmask.objectives.text import TextObjective
from unmask.results import FigureTitle
from unmask.tokens.held_out import HELD_OUT_LENGTH, HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import ALONE, World
from unmask.training.step import micro_batch_seed
from unmask.training.sums import Sums

TITLES = (
    FigureTitle("loss", "Loss, nats a token"),
    FigureTitle("accuracy", "Accuracy on hidden tokens", better="more", percent=True),
    FigureTitle("perplexity", "Perplexity"),
    FigureTitle("bits_per_byte", "Bits per byte"),
    FigureTitle("hidden_rate", "Hidden rate", percent=True),
)


@dataclass(frozen=True)
class MaskedValidation:
    """Measures on held-out text."""

    objective: TextObjective[Any]  # what the training is for in the end
    dataset: Dataset
    fixed_masks: HeldOutSet | None  # where the learner has a part that restores masked tokens
    own_examples: HeldOutSet | None  # of the objective's own kind

    @classmethod
    def of(cls, objective: TextObjective[Any], dataset: Dataset, length: int, learner: Module) -> MaskedValidation:
        """What a learner of this objective can be measured on."""
        text, vocabulary, length = dataset.split("valid"), dataset.vocabulary, min(HELD_OUT_LENGTH, length)
        restores = objective.masked_lm(learner) is not None
        fixed_masks = HeldOutSet.of(text, vocabulary, length=length) if restores else None
        own_examples = None
        if objective.held_out or not restores:
            own_examples = HeldOutSet.of(text, vocabulary, length=length, policy=objective.usual, rate=None)
        return cls(objective, dataset, fixed_masks, own_examples)

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on all held-out text takes."""
        return sum(examples.tokens for examples in (self.fixed_masks, self.own_examples) if examples is not None)

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """Loss and accuracy on held-out text, and what the objective says of itself there."""
        figures: dict[str, float] = {}
        if self.own_examples is not None:
            sums = measure_objective(learner, self.objective, self.own_examples, limit, world)
            figures = {"accuracy": nan, **sums.figures, "loss": sums.loss, "predictions": sum(sums.counts.values())}
            if "bits_per_token" in figures:
                figures["bits_per_byte"] = figures["bits_per_token"] * self.dataset.tokens_per_byte
        model = self.objective.masked_lm(learner)
        if model is not None and self.fixed_masks is not None:
            figures |= measure_masks(model, self.fixed_masks, limit, world)
        return {**figures, "perplexity": exp(min(figures["loss"], 700))}


@torch.no_grad()
def measure_masks(
    model: PreTrainedModel, examples: HeldOutSet, limit: int | None = None, world: World = ALONE
) -> dict[str, float]:
    """Loss and accuracy on the fixed held-out examples, whose batches the processes share."""
    loss, correct, predictions = 0.0, 0.0, 0.0
    with evaluating(model):
        for held_out, is_mine in world.padded_share(examples.batches(limit=limit)):
            result = mlm.masked_lm_loss(model, held_out.batch)
            loss += is_mine * result.loss.item()
            correct += is_mine * int(result.correct.item())
            predictions += is_mine * result.predicted
    loss, correct, predictions = world.total(loss, correct, predictions)
    count = max(1, predictions)
    return {"loss": loss / count, "accuracy": correct / count, "predictions": predictions}


@torch.no_grad()
def measure_objective(
    learner: Module, objective: TextObjective[Any], examples: HeldOutSet, limit: int | None = None, world: World = ALONE
) -> Sums:
    """What an objective measures of itself on held-out examples of its own kind, which the processes share."""
    sums = Sums([objective])
    with evaluating(learner):
        for number, (held_out, is_mine) in enumerate(world.padded_share(examples.batches(limit=limit))):
            torch.manual_seed(micro_batch_seed(examples.seed, number * world.size + world.rank))
            outcome = objective.outcome(learner, held_out.batch)
            if is_mine:
                sums.count(objective, held_out.batch)
                sums.add(objective, outcome)
    sums.reduce_counts(world)
    sums.reduce_losses(world)
    return sums


@contextmanager
def evaluating(model: Module) -> Iterator[None]:
    """No dropout inside the block."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
