"""A model with what it is trained and measured on: what a run needs in memory.

In: a data directory, a recipe, a number of steps and a seed. Out: the same beginning each time, or the moment that a
checkpoint kept.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import nan
from pathlib import Path

import torch
from torch.nn import Module

from unmask.errors import BadInput, Damaged
from unmask.models.families.family import FAMILIES, build
from unmask.models.init import know_frequencies
from unmask.objectives import curriculum as table
from unmask.objectives.objective import Objective
from unmask.pretraining.feed import Feed
from unmask.tokens.held_out import HELD_OUT_LENGTH, HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint, health, loop
from unmask.training.loop import Measured, Position, Training
from unmask.training.machine.computing import PLAIN, Computing, device_for, made_ready, uncompiled
from unmask.training.machine.distributed import ALONE, World
from unmask.training.machine.sharding import is_part, part_of, shard, whole
from unmask.training.optimizer import Optimizer
from unmask.training.precision import Precision

VALIDATIONS = 10  # over a run, besides the last, which takes all held-out text
VALIDATION_SHARE = 0.01  # tokens of a validation for each token trained on: about a thirtieth of the time in all
VALIDATION_TOKENS = (4_096, 65_536)  # at the least and at the most


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model and how it is trained."""

    name: str
    family: str
    size: str
    training: Training


@dataclass(frozen=True)
class Work:
    """Everything that a step touches."""

    dataset: Dataset
    recipe: Recipe
    steps: int
    seed: int
    objective: Objective  # what the training is for in the end
    learner: Module
    optimizer: Optimizer
    feed: Feed
    examples: HeldOutSet | None  # with the fixed masks, where masked tokens are restored
    own: HeldOutSet | None  # of the objective's own kind
    computing: Computing
    precision: Precision

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        recipe: Recipe,
        steps: int,
        seed: int,
        computing: Computing = PLAIN,
        world: World = ALONE,
    ) -> Work:
        """The beginning of a run."""
        dataset = loop.fitted(dataset, recipe.training)
        settings, vocabulary = recipe.training, dataset.vocabulary
        objective = table.parse(settings.objective).main
        device = device_for(computing.device)
        learner = made_ready(fresh(objective, dataset, recipe, seed), computing, device)
        if computing.shard and world.size > 1:
            shard(learner, device, world.size)
        feed = loop.feed_of(settings, dataset, steps, seed, packs=FAMILIES[recipe.family].packs)
        if not len(feed.pieces.starts):
            raise BadInput(f"{dataset.path}: has no tokens to train on; prepare it from more text")
        text, length = dataset.split("valid"), min(HELD_OUT_LENGTH, settings.length)
        restores = objective.masked_lm(learner) is not None
        examples = HeldOutSet.of(text, vocabulary, length=length) if restores else None
        own = None
        if objective.held_out or not restores:
            own = HeldOutSet.of(text, vocabulary, length=length, policy=objective.usual, rate=None)
        optimizer = Optimizer(learner, settings.optimizing)
        precision = Precision(computing.precision, device.type)
        return cls(
            dataset, recipe, steps, seed, objective, learner, optimizer, feed, examples, own, computing, precision
        )

    def go_on(self, saved: checkpoint.Checkpoint) -> Position:
        """Take up a moment that was kept; names and shapes must be the model's own."""
        own = dict(self.learner.named_parameters())
        try:
            for name in own.keys() ^ saved.model.keys():
                raise ValueError(f"{name} is not in both")
            with torch.no_grad():
                for name, parameter in own.items():
                    if parameter.shape != saved.model[name].shape:
                        shapes = tuple(saved.model[name].shape), tuple(parameter.shape)
                        raise ValueError("{} is {}, not {}".format(name, *shapes))
                    parameter.copy_(part_of(saved.model[name].to(parameter.device), parameter))
            self.optimizer.restore(saved.optimizer)
            self.precision.restore(saved.state)
            return Position.of({name: value for name, value in saved.state.items() if name not in self.precision.state})
        except (KeyError, TypeError, ValueError) as error:
            raise Damaged(f"the checkpoint of step {saved.step} does not fit the model ({error})") from error

    def save(self, folder: Path, position: Position, keep: int, world: World = ALONE) -> None:
        """Keep this moment: the first process writes what all of them hold."""
        tensors = {name: whole(parameter.detach()) for name, parameter in self.learner.named_parameters()}
        health.check(tensors.items(), position.step)
        state = asdict(position) | self.precision.state
        moment = checkpoint.Checkpoint(position.step, tensors, self.optimizer.tensors(), state)
        if world.first:
            checkpoint.save(folder, moment, keep=keep)

    def whole_learner(self) -> Module:
        """The learner in one piece, to be exported."""
        if not any(is_part(parameter) for parameter in self.learner.parameters()):
            return self.learner
        learner = fresh(self.objective, self.dataset, self.recipe, self.seed)
        own = dict(learner.named_parameters())
        with torch.no_grad():
            for name, parameter in self.learner.named_parameters():
                own[name].copy_(whole(parameter))
        return learner

    def validate(self, world: World) -> tuple[Measured, dict[str, float]]:
        """Measure on a sample of the held-out text whose size is a share of what the run trains on."""
        trained_on = self.steps * self.recipe.training.rows * self.recipe.training.length
        least, most = VALIDATION_TOKENS
        limit = min(most, max(least, int(trained_on * VALIDATION_SHARE)))
        return self.measure(limit, world)

    def measure(self, limit: int | None, world: World) -> tuple[Measured, dict[str, float]]:
        """Loss and accuracy on held-out text, and what the objective says of itself there."""
        with self.precision.casting(), uncompiled(self.computing):
            return self._measured(limit, world)

    def _measured(self, limit: int | None, world: World) -> tuple[Measured, dict[str, float]]:
        figures: dict[str, float] = {}
        measured = None
        if self.own is not None:
            sums = loop.measure(self.learner, self.objective, self.own, limit, world)
            figures = sums.figures
            if "bits_per_token" in figures:
                figures["bits_per_byte"] = figures["bits_per_token"] * self.dataset.tokens_per_byte
            measured = Measured(sums.loss, figures.get("accuracy", nan), int(sum(sums.counts.values())))
        model = self.objective.masked_lm(self.learner)
        if model is not None and self.examples is not None:
            measured = loop.validate(model, self.examples, limit, world)
        assert measured is not None
        return measured, figures

    @property
    def held_out_tokens(self) -> int:
        """How many tokens a measurement on all held-out text takes."""
        return sum(some.tokens for some in (self.examples, self.own) if some is not None)

    @property
    def parameters(self) -> int:
        """How many weights the model has."""
        return sum(parameter.numel() for parameter in self.learner.parameters())


def fresh(objective: Objective, dataset: Dataset, recipe: Recipe, seed: int) -> Module:
    """What an objective trains, as it is before the first step: a function of the seed."""
    settings, vocabulary = recipe.training, loop.fitted(dataset, recipe.training).vocabulary
    model = {"family": recipe.family, "size": recipe.size, "dropout": settings.dropout}
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # of what the objective adds to the model
        learner = objective.learner(
            lambda **changed: build(vocabulary=vocabulary, length=settings.length, seed=seed, **{**model, **changed})
        )
    know_frequencies(learner, vocabulary.counts)
    return learner
