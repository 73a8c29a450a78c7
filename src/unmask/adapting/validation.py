"""How an adapted model is measured: on fixed masks of the domain, and beside it of general text, document by document.

In: held-out text of both. Out: figures, those of general text beginning with `general_`; and what each document cost,
so that two moments, or two models, are compared on the same documents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp
from typing import Any

import numpy as np
import torch
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.evaluation.intervals import difference_figure, ratio_figure
from unmask.models.inputs import as_inputs
from unmask.objectives.mlm import MLM
from unmask.objectives.text import TextObjective
from unmask.objectives.vocabulary import predict_tokens
from unmask.pretraining.validation import evaluating
from unmask.records import Reals
from unmask.results import Figure, FigureTitle
from unmask.tokens.held_out import HELD_OUT_LENGTH, HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import ALONE, World

LOSS = FigureTitle("loss", "Domain loss, nats a token")
GENERAL = FigureTitle("general_loss", "General loss, nats a token")
ACCURACY = FigureTitle("accuracy", "Accuracy on hidden tokens", better="more", percent=True)
PERPLEXITY = FigureTitle("perplexity", "Perplexity")
SAMPLE = 32_768  # tokens of each text that is measured on the way, and that mixtures are measured on


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
class Losses:
    """What both texts cost."""

    domain: DocumentLosses
    general: DocumentLosses | None = None

    @property
    def figures(self) -> dict[str, float]:
        """Means over all hidden tokens, by name."""
        figures = {**_means(self.domain), "perplexity": exp(min(self.domain.loss, 700))}
        if self.general is not None:
            figures |= {f"general_{name}": value for name, value in _means(self.general).items()}
        return figures


def _means(losses: DocumentLosses) -> dict[str, float]:
    return {"loss": losses.loss, "accuracy": float(losses.correct.sum() / max(1.0, losses.predictions.sum()))}


@dataclass(frozen=True)
class AdaptValidation:
    """Measures on held-out text of the domain and, where there is some, of general text."""

    domain: HeldOutSet
    general: HeldOutSet | None
    objective: TextObjective[Any] = field(default_factory=MLM)  # it says which part of a learner restores tokens

    @classmethod
    def of(
        cls, domain: Dataset, general: Dataset | None, length: int, objective: TextObjective[Any] | None = None
    ) -> AdaptValidation:
        """The fixed masks of both."""

        def masks(dataset: Dataset) -> HeldOutSet:
            return HeldOutSet.of(dataset.split("valid"), dataset.vocabulary, length=min(HELD_OUT_LENGTH, length))

        return cls(masks(domain), None if general is None else masks(general), objective or MLM())

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return self.domain.tokens + (0 if self.general is None else self.general.tokens)

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """Loss and accuracy on both texts."""
        return self.losses(learner, limit, world).figures

    def losses(self, learner: Module, limit: int | None = None, world: World = ALONE) -> Losses:
        """What each document of both texts costs, on about `limit` tokens of each or on everything."""
        model = self.objective.masked_lm(learner)
        assert model is not None
        general = None if self.general is None else document_losses(model, self.general, limit, world)
        return Losses(document_losses(model, self.domain, limit, world), general)


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
