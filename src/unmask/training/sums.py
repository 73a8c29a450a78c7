"""The sums of a step: what its micro-batches gave, on all processes, and what that comes to.

In: counts, losses and tallies of micro-batches. Out: one loss in which everything predicted weighs alike, and figures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from unmask.objectives.objective import AnyObjective, Outcome
from unmask.records import Reals
from unmask.training.job import TrainingBatch
from unmask.training.machine.distributed import World

Key = tuple[AnyObjective, str]  # a term or a tally of an objective


class Sums:
    """Counts before anything is computed, losses and tallies after it.

    Where micro-batches follow different objectives, each of them has that share of the loss: every process knows it
    without asking.
    """

    def __init__(self, objectives: Sequence[AnyObjective]) -> None:
        self.objectives = list(dict.fromkeys(objectives))
        self.shares = {objective: objectives.count(objective) / len(objectives) for objective in self.objectives}
        self.counts: dict[Key, float] = {
            (objective, term): 0.0 for objective in self.objectives for term in objective.terms
        }
        self.losses: dict[Key, float] = dict.fromkeys(self.counts, 0.0)
        self.tallies: dict[Key, Reals] = {
            (objective, name): np.zeros(size)
            for objective in self.objectives
            for name, size in objective.tally_sizes.items()
        }
        self.tokens = self.predictions = 0.0

    def count(self, objective: AnyObjective, batch: TrainingBatch) -> None:
        """Take note of how much there is to predict in a micro-batch."""
        counts = objective.counts(batch)
        self.tokens += batch.tokens
        self.predictions += batch.predictions
        for term, count in counts.items():
            self.counts[objective, term] += count

    def add(self, objective: AnyObjective, outcome: Outcome) -> None:
        """Add what a micro-batch gave."""
        for term, loss in outcome.losses.items():
            self.losses[objective, term] += loss.item()
        for name, tally in outcome.tallies.items():
            self.tallies[objective, name] += tally.detach().double().reshape(-1).cpu().numpy()

    def reduce_counts(self, world: World) -> None:
        """Make the counts those of all processes."""
        *counts, self.tokens, self.predictions = world.total(*self.counts.values(), self.tokens, self.predictions)
        self.counts = dict(zip(self.counts, counts, strict=True))

    def reduce_losses(self, world: World) -> None:
        """Make the losses and the tallies those of all processes."""
        sizes = [len(tally) for tally in self.tallies.values()]
        flat_tallies = [number for tally in self.tallies.values() for number in tally]
        numbers = np.array(world.total(*self.losses.values(), *flat_tallies))
        losses, *tallies = np.split(numbers, np.cumsum([len(self.losses), *sizes])[:-1]) if sizes else (numbers,)
        self.losses = dict(zip(self.losses, losses.tolist(), strict=True))
        self.tallies = dict(zip(self.tallies, tallies, strict=True))

    def loss_of(self, objective: AnyObjective, outcome: Outcome) -> Tensor:
        """A micro-batch's part of the loss of the step, with its gradients."""
        scale = {term: self.shares[objective] * weight for term, weight in objective.terms.items()}
        return torch.stack(
            [loss * (scale[term] / max(1.0, self.counts[objective, term])) for term, loss in outcome.losses.items()]
        ).sum()

    @property
    def loss(self) -> float:
        """The loss of the step."""
        return sum(
            self.shares[objective] * objective.terms[term] * total / max(1.0, self.counts[objective, term])
            for (objective, term), total in self.losses.items()
        )

    @property
    def figures(self) -> dict[str, float]:
        """What the objectives measured, under their names where there are several; so too the terms of a loss."""
        figures: dict[str, float] = {}
        for objective in self.objectives:
            counts = {term: self.counts[objective, term] for term in objective.terms}
            if len(objective.terms) > 1 or len(self.objectives) > 1:
                figures |= {f"{term}_loss": self.losses[objective, term] / max(1.0, counts[term]) for term in counts}
            measures = objective.figures(
                counts, {name: self.tallies[objective, name] for name in objective.tally_sizes}
            )
            among = f"{objective.name}_" if len(self.objectives) > 1 else ""
            figures |= {f"{among}{name}": value for name, value in measures.items()}
        return figures
