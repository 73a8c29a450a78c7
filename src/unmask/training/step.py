"""One step: micro-batches to gradients to weights.

In: a model and the lessons of a step. Out: the model, changed or, where the step is not sound, left as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite

import numpy as np
import torch
from torch.nn import Module

from unmask.objectives.objective import Objective, Outcome
from unmask.pretraining.feed import Feed, Lesson
from unmask.randomness import Draws
from unmask.training.gradients import gradients_of
from unmask.training.health import Recent
from unmask.training.machine.distributed import World
from unmask.training.machine.memory import cut, fitting
from unmask.training.machine.sharding import clip
from unmask.training.optimizer import Optimizer
from unmask.training.precision import FLOAT32, Precision
from unmask.training.sums import Sums


@dataclass(frozen=True)
class Stepped:
    """What one step did."""

    loss: float
    figures: dict[str, float]  # what its objectives measured
    predicted: int
    gradient: float  # norm before clipping
    finite: bool
    applied: bool
    spike: str | None  # what was far above the steps before, in words
    tokens: int
    parts: int  # that a micro-batch was computed in


@dataclass(frozen=True)
class Care:
    """What a step is to look out for."""

    parts: int = 1  # that a micro-batch is computed in
    recent: Recent = field(default_factory=Recent)
    skip_spikes: bool = False
    overlap: bool = True  # whether gradients may leave for other processes before all are computed
    precision: Precision = FLOAT32


def take_step(
    learner: Module,
    optimizer: Optimizer,
    feed: Feed,
    step: int,
    world: World,
    lessons: Sequence[Lesson] | None = None,
    care: Care | None = None,
) -> Stepped:
    """One step: everything predicted in its micro-batches weighs alike; non-finite numbers are never applied."""
    care = care or Care()
    if lessons is None:
        lessons = feed.lessons(step, world.share(feed.micros))
    sums = Sums(feed.objectives(step))
    for lesson in lessons:
        sums.count(lesson.objective, lesson.batch)
    sums.counted(world)
    parts = learn(learner, feed, lessons, sums, world, care)
    sums.added(world)
    care.precision.reduce(learner.parameters())
    norm = clip(learner.parameters(), optimizer.settings.clip)
    finite = isfinite(sums.loss) and isfinite(norm)
    care.precision.learn(finite)
    spike = care.recent.spike(sums.loss, norm) if finite else None
    applied = finite and not (spike and care.skip_spikes)
    if applied:
        optimizer.step(step, feed.steps)
    optimizer.clear()
    figures, predicted, tokens = sums.figures, int(sums.predicted), int(sums.tokens)
    return Stepped(sums.loss, figures, predicted, norm, finite, applied, spike, tokens, parts)


def learn(learner: Module, feed: Feed, lessons: Sequence[Lesson], sums: Sums, world: World, care: Care) -> int:
    """The gradients of a step and its sums; in how many parts a micro-batch went into memory."""
    gradients = gradients_of(learner.parameters(), world)
    rounds: list[Sequence[Lesson]] = [lessons]
    if world.reproducible:  # one by one, and as many rounds for a process with fewer micro-batches
        rounds = [lessons[nth : nth + 1] for nth in range(-(-feed.micros // world.size))]
    parts = care.parts
    for some in rounds:
        last = care.overlap and bool(some) and some[-1] is lessons[-1]
        before_last = gradients.expect_last if last else None
        compute = partial(outcomes_of, learner, some, sums, feed.seed, care.precision, before_last)
        parts, outcomes = fitting(compute, gradients.start_again, parts=parts, rows=feed.micro, length=feed.length)
        for objective, outcome in outcomes:
            sums.add(objective, outcome)
        gradients.end_round()
    gradients.settle()
    return parts


def outcomes_of(
    learner: Module,
    lessons: Sequence[Lesson],
    sums: Sums,
    seed: int,
    precision: Precision,
    before_last: Callable[[], None] | None,
    parts: int,
) -> list[tuple[Objective, Outcome]]:
    """What each part of each micro-batch gave, its gradients added to those of the learner."""
    pieces = [(lesson, nth, piece) for lesson in lessons for nth, piece in enumerate(cut(lesson.batch, parts))]
    outcomes = []
    for left, (lesson, nth, piece) in zip(reversed(range(len(pieces))), pieces, strict=True):
        torch.manual_seed(micro_batch_seed(seed, lesson.number, nth))
        with precision.casting():
            outcome = lesson.objective.outcome(learner, piece)
        if before_last and not left:
            before_last()
        precision.enlarged(sums.loss_of(lesson.objective, outcome)).backward()
        outcomes.append((lesson.objective, outcome))
    return outcomes


def micro_batch_seed(seed: int, number: int, part: int = 0) -> int:
    """What dropout is drawn from: a function of the micro-batch's number in the whole run, and of its part's."""
    return int(Draws.of(seed, part, np.array([number])).keys[0]) >> 1
