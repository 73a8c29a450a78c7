"""What a training loop needs of any task: a batch and a learner to a loss, and to figures.

In: a batch, whatever the task makes one of. Out: sums. Whoever adds up micro-batches divides each sum by the number of
things in all of them, so that everything predicted weighs alike, however the work was cut up:

    loss = Σ_terms weight · Σ_micro-batches sum / Σ_micro-batches count
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.nn import Module

from unmask.records import Reals

Learner = TypeVar("Learner", bound=Module)
Examples = TypeVar("Examples")


@dataclass(frozen=True)
class Outcome:
    """What one micro-batch gave, summed."""

    losses: dict[str, Tensor]  # by term, in nats, with gradients
    tallies: dict[str, Tensor] = field(default_factory=dict)  # what figures are made of, as `tally_sizes` announces it


class Objective(ABC, Generic[Learner, Examples]):
    """One way for a learner to learn from examples."""

    name: str
    also: tuple[str, ...] = ()  # other names that it is asked for by
    paper: str = ""  # what it is called where it was published, and where that is

    def __str__(self) -> str:
        return self.name

    @property
    @abstractmethod
    def terms(self) -> Mapping[str, float]:
        """The terms of the loss, each with its weight."""

    @property
    def tally_sizes(self) -> Mapping[str, int]:
        """What is counted besides: how many numbers each tally has."""
        return {}

    @abstractmethod
    def counts(self, batch: Examples) -> dict[str, int]:
        """By term of the loss, how many things its sum is over: known before anything is computed."""

    @abstractmethod
    def outcome(self, learner: Learner, batch: Examples) -> Outcome:
        """The summed losses of a batch, and tallies."""

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """What to say of a step or of held-out text, from counts and tallies that are summed over all of it."""
        return {}


AnyObjective = Objective[Any, Any]  # for a loop, which hands on what it does not look into


def device_of(learner: Module) -> torch.device:
    """Where a learner's weights are."""
    return next(learner.parameters()).device
