"""How an adapted model is measured while it trains: on fixed masks of the domain, and beside it of general text.

In: held-out text of both. Out: figures; those of general text begin with `general_`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from torch.nn import Module
from transformers import PreTrainedModel

from unmask.pretraining.validation import measure_masks
from unmask.results import FigureTitle
from unmask.tokens.held_out import HELD_OUT_LENGTH, HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import World

LOSS = FigureTitle("loss", "Domain loss, nats a token")
GENERAL = FigureTitle("general_loss", "General loss, nats a token")
ACCURACY = FigureTitle("accuracy", "Accuracy on hidden tokens", better="more", percent=True)
PERPLEXITY = FigureTitle("perplexity", "Perplexity")


@dataclass(frozen=True)
class AdaptValidation:
    """Measures on held-out text of the domain and, where there is some, of general text."""

    domain: HeldOutSet
    general: HeldOutSet | None

    @classmethod
    def of(cls, domain: Dataset, general: Dataset | None, length: int) -> AdaptValidation:
        """The fixed masks of both."""

        def masks(dataset: Dataset) -> HeldOutSet:
            return HeldOutSet.of(dataset.split("valid"), dataset.vocabulary, length=min(HELD_OUT_LENGTH, length))

        return cls(masks(domain), None if general is None else masks(general))

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return self.domain.tokens + (0 if self.general is None else self.general.tokens)

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """Loss and accuracy on the domain, and the loss on general text."""
        assert isinstance(learner, PreTrainedModel)
        figures = measure_masks(learner, self.domain, limit, world)
        figures["perplexity"] = exp(min(figures["loss"], 700))
        if self.general is not None:
            general = measure_masks(learner, self.general, limit, world)
            figures |= {f"general_{name}": general[name] for name in ("loss", "accuracy")}
        return figures
