"""How a pretrained model is measured while it trains: on the fixed masks, and in its objective's own way.

In: an objective and held-out text. Out: figures. The masks are fixed by the text, the tokenizer, the length and the
seed, so that every model and every run restores the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import exp, isfinite, nan
from typing import Any

import numpy as np
import torch
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.intervals import difference_figure, ratio_figure, share_of_sums
from unmask.models.inputs import as_inputs
from unmask.objectives.text import TextObjective
from unmask.objectives.vocabulary import predict_tokens
from unmask.records import Reals
from unmask.results import Figure, FigureTitle
from unmask.runs.directory import INTERVAL
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
class DocumentLosses:
    """What hidden tokens cost, document by document; D entries each, zeros for documents outside of a sample."""

    nats: Reals
    predictions: Reals
    correct: Reals

    @property
    def loss(self) -> float:
        """Nats a hidden token, on average."""
        return float(self.nats.sum() / max(1.0, self.predictions.sum()))

    @property
    def figure(self) -> Figure:
        """The same, known as well as a sample of so many documents tells it."""
        measured = self.predictions > 0
        return ratio_figure(self.nats[measured], self.predictions[measured])

    @property
    def accuracy(self) -> Figure:
        """The part of the hidden tokens that the best guess restores, with its interval."""
        measured = self.predictions > 0
        return share_of_sums(self.correct[measured], self.predictions[measured])

    def bounds(self, prefix: str = "") -> dict[str, float]:
        """The ends of the intervals of loss, accuracy and perplexity, by names that a run keeps; none of one document.

        Perplexity is e to the loss, and so are its ends.
        """
        loss = self.figure
        perplexity = Figure(*(exp(min(each, 700)) for each in (loss.value, loss.low, loss.high)))
        figures = {"loss": loss, "accuracy": self.accuracy, "perplexity": perplexity}
        ends = {f"{name}_{end}": getattr(figure, end) for name, figure in figures.items() for end in ("low", "high")}
        return {f"{INTERVAL}{prefix}{name}": value for name, value in ends.items() if isfinite(value)}

    def above(self, other: DocumentLosses) -> Figure:
        """How much more they cost than in another measurement of the same documents: a paired difference."""
        measured = self.predictions > 0
        costs = (self.nats[measured], self.predictions[measured])
        return difference_figure(costs, (other.nats[measured], other.predictions[measured]))

    def grouped(self, count: int) -> DocumentLosses:
        """The same by at most so many groups of documents."""
        groups = np.arange(len(self.nats)) % count

        def total(values: Reals) -> Reals:
            return np.bincount(groups, values, minlength=min(count, len(values))).astype(np.float64)

        return DocumentLosses(total(self.nats), total(self.predictions), total(self.correct))


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


def measure_masks(
    model: PreTrainedModel, examples: HeldOutSet, limit: int | None = None, world: World = ALONE
) -> dict[str, float]:
    """Loss and accuracy on the fixed held-out examples; on all of them with their intervals."""
    losses = document_losses(model, examples, limit, world)
    figures = {
        "loss": losses.loss,
        "accuracy": float(losses.correct.sum() / max(1.0, losses.predictions.sum())),
        "predictions": float(losses.predictions.sum()),
    }
    return figures if limit is not None else figures | losses.bounds()


@torch.no_grad()
def document_losses(
    model: PreTrainedModel, examples: HeldOutSet, limit: int | None = None, world: World = ALONE
) -> DocumentLosses:
    """What the hidden tokens of each document cost, on the fixed held-out examples, which the processes share."""
    pieces = examples.packing.pieces
    count = len(examples.stream.ends)
    sums = np.zeros((3, count))
    with evaluating(model):
        for held_out, is_mine in world.padded_share(examples.batches(limit=limit)):
            batch = held_out.batch
            guesses = predict_tokens(model, batch.predicted, batch.targets, **as_inputs(model, batch))
            if not is_mine:
                continue
            documents = pieces.documents[batch.numbers[batch.predicted // batch.ids.shape[1]]]
            losses, right = guesses.losses.double().cpu().numpy(), guesses.right.double().cpu().numpy()
            for row, values in enumerate((losses, np.ones(len(losses)), right)):
                sums[row] += np.bincount(documents, values, minlength=count)
    whole = np.array(world.total(*sums.ravel().tolist())).reshape(sums.shape)
    return DocumentLosses(*whole)


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
