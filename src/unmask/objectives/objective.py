"""What an objective is: a batch and a learner to a loss, to figures and to what is kept in the end.

In: a `Batch`. Out: sums. Whoever adds up micro-batches divides each sum by the number of things in all of them, so
that everything predicted weighs alike, however the work was cut up:

    loss = Σ_terms weight · Σ_micro-batches sum / Σ_micro-batches count

An objective is one file that says, in this order, what batch it needs (`learns_from`), what it trains (`learner`), its
loss (`counts`, `outcome`), what it measures (`figures`) and what it exports (`exports`); and one line in
`objectives/table.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.records import Batch, PolicyProperties

Build = Callable[..., PreTrainedModel]  # a fresh model of the recipe; keyword arguments change its family or its size


@dataclass(frozen=True)
class Outcome:
    """What one micro-batch gave, summed."""

    losses: dict[str, Tensor]  # by term, in nats, with gradients
    tallies: dict[str, Tensor] = field(default_factory=dict)  # what figures are made of, as `tallied` announces it


@dataclass(frozen=True)
class Card:
    """What a model directory says of itself."""

    what: str  # "A masked language model"
    pipeline: str  # what transformers and the hub call the use of it
    example: str  # Python that uses it in its own directory; [MASK] stands for the tokenizer's mask


FILL_MASK = Card(
    what="A masked language model",
    pipeline="fill-mask",
    example="""\
from transformers import pipeline

pipeline("fill-mask", model=".")("The text has a [MASK] in it.")""",
)


@dataclass(frozen=True)
class Export:
    """A model directory: the model, and tensors beside it that its class has no place for, by file name."""

    model: PreTrainedModel
    tensors: Mapping[str, dict[str, Tensor]] = field(default_factory=dict)
    card: Card | None = None  # where it is another than the objective's


class Objective(ABC):
    """One way to learn from text."""

    name: str
    usual: str | None = None  # the policy of the paper; none: it takes text as it is
    families: frozenset[str] | None = None  # of models that it trains; none: whichever
    terms: Mapping[str, float]  # of the loss, each with its weight
    tallied: Mapping[str, int] = {}  # what is counted besides: how many numbers each tally has
    held_out: bool = False  # whether it is measured on held-out text in its own way, besides the fixed masks
    card: Card = FILL_MASK

    @property
    def hides(self) -> bool:
        """Whether something has to be hidden for it."""
        return self.usual is not None

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Whether it can learn from what a policy of these properties hides."""
        return False

    def learner(self, build: Build) -> Module:
        """What is trained: the recipe's model, and whatever the objective adds to it."""
        return build()

    @abstractmethod
    def counts(self, batch: Batch) -> dict[str, int]:
        """By term of the loss, how many things its sum is over: known before anything is computed."""

    @abstractmethod
    def outcome(self, learner: Module, batch: Batch) -> Outcome:
        """The summed losses of a batch, and tallies."""

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Any]) -> dict[str, float]:
        """What to say of a step or of held-out text, from counts and tallies that are summed over all of it."""
        return {}

    def masked_lm(self, learner: Module) -> PreTrainedModel | None:
        """The part that restores masked tokens, which the fixed masks measure; none where there is none."""
        return None

    def exports(self, learner: Module) -> dict[str, Export]:
        """Model directories by name; `model` is the one that counts."""
        assert isinstance(learner, PreTrainedModel)
        return {"model": Export(learner)}


def device_of(learner: Module) -> torch.device:
    """Where a learner's weights are."""
    return next(learner.parameters()).device
