"""How an adapted model is measured: on fixed masks of the domain, and beside it of general text, document by document.

In: held-out text of both. Out: figures, those of general text beginning with `general_`; and what each document cost,
so that two moments, or two models, are compared on the same documents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp
from typing import Any

from torch.nn import Module

from unmask.objectives.mlm import MLM
from unmask.objectives.text import TextObjective
from unmask.pretraining.validation import DocumentLosses, document_losses
from unmask.results import FigureTitle
from unmask.tokens.held_out import HELD_OUT_LENGTH, HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import ALONE, World

LOSS = FigureTitle("loss", "Domain loss, nats a token")
GENERAL = FigureTitle("general_loss", "General loss, nats a token")
ACCURACY = FigureTitle("accuracy", "Accuracy on hidden tokens", better="more", percent=True)
PERPLEXITY = FigureTitle("perplexity", "Perplexity")
SAMPLE = 32_768  # tokens of each text that is measured on the way, and that mixtures are measured on


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

    @property
    def bounds(self) -> dict[str, float]:
        """The ends of the intervals of losses and accuracies, by name."""
        bounds = self.domain.bounds()
        return bounds if self.general is None else bounds | self.general.bounds("general_")


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
        """Loss and accuracy on both texts, of all of it with their intervals."""
        losses = self.losses(learner, limit, world)
        return losses.figures if limit is not None else losses.figures | losses.bounds

    def losses(self, learner: Module, limit: int | None = None, world: World = ALONE) -> Losses:
        """What each document of both texts costs, on about `limit` tokens of each or on everything."""
        model = self.objective.masked_lm(learner)
        assert model is not None
        general = None if self.general is None else document_losses(model, self.general, limit, world)
        return Losses(document_losses(model, self.domain, limit, world), general)
