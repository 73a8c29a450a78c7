"""One step: micro-batches to gradients to weights.

In: a learner and the micro-batches of a step. Out: the learner, changed or, where the step is unsound, left as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch.nn import Module

from unmask.objectives.coupled import CoupledObjective
from unmask.objectives.objective import AnyObjective, Outcome
from unmask.randomness import Draws
from unmask.training.gradients import gradients_of
from unmask.training.health import Recent
from unmask.training.job import MicroBatch, Source, micro_batches_of
from unmask.training.machine.distributed import ALONE, World
from unmask.training.machine.memory import split_to_fit
from unmask.training.machine.sharding import clip_gradients
from unmask.training.optimizer import Optimizer
from unmask.training.precision import FLOAT32, Precision
from unmask.training.sums import Sums
from unmask.training.two_passes import TwoPasses


@dataclass(frozen=True)
class StepResult:
    """What one step did."""

    loss: float
    figures: dict[str, float]  # what its objectives measured
    tokens: int
    predictions: int
    gradient: float  # norm before clipping
    finite: bool
    applied: bool
    spike: str | None  # what was far above the steps before, in words
    splits: int  # that a micro-batch was computed in


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """How a step is computed, and what it is to look out for."""

    splits: int = 1  # that a micro-batch is computed in, for it to fit into memory
    recent: Recent = field(default_factory=Recent)
    skip_spikes: bool = False
    overlap: bool = True  # whether gradients may leave for other processes before all are computed
    precision: Precision = FLOAT32


def take_step(
    learner: Module,
    optimizer: Optimizer,
    source: Source,
    *,
    step: int,
    world: World = ALONE,
    micro_batches: Sequence[MicroBatch] | None = None,
    options: StepOptions | None = None,
) -> StepResult:
    """One step: everything predicted in its micro-batches weighs alike; non-finite numbers are never applied."""
    options = options or StepOptions()
    if micro_batches is None:
        micro_batches = micro_batches_of(source, step, world.share(source.micro_batches))
    sums = Sums([planned_batch.objective for planned_batch in source.plan_step(step)])
    for micro_batch in micro_batches:
        sums.count(micro_batch.objective, micro_batch.batch)
    sums.reduce_counts(world)
    splits = accumulate_gradients(learner, source, step, micro_batches, sums, world, options)
    sums.reduce_losses(world)
    optimizer.tables.gather()
    options.precision.unscale(learner.parameters())
    norm = clip_gradients(learner.parameters(), optimizer.settings.clip)
    optimizer.tables.settle()
    finite = isfinite(sums.loss) and isfinite(norm)
    options.precision.update(finite)
    spike = options.recent.spike(sums.loss, norm) if finite else None
    applied = finite and not (spike and options.skip_spikes)
    if applied:
        optimizer.step(*source.timetable.at(step))
    optimizer.clear()
    return StepResult(
        loss=sums.loss,
        figures=sums.figures,
        tokens=int(sums.tokens),
        predictions=int(sums.predictions),
        gradient=norm,
        finite=finite,
        applied=applied,
        spike=spike,
        splits=splits,
    )


def accumulate_gradients(
    learner: Module,
    source: Source,
    step: int,
    micro_batches: Sequence[MicroBatch],
    sums: Sums,
    world: World,
    options: StepOptions,
) -> int:
    """The gradients of a step and its sums; in how many parts a micro-batch went into memory."""
    gradients = gradients_of(learner.parameters(), world)
    rounds: list[Sequence[MicroBatch]] = [micro_batches]
    if world.reproducible:  # one by one, and as many rounds for a process with fewer micro-batches
        rounds = [micro_batches[nth : nth + 1] for nth in range(-(-source.micro_batches // world.size))]
    splits = options.splits
    two_passes = None
    if isinstance(objective := sums.objectives[0], CoupledObjective):
        splits, two_passes = compare_examples(learner, objective, source, step, micro_batches, sums, world, options)
    for turn in rounds:
        last = options.overlap and bool(turn) and turn[-1] is micro_batches[-1]
        before_last = gradients.expect_last if last else None
        if two_passes is None:
            compute = partial(outcomes_of, learner, turn, sums, source.seed, options.precision, before_last)
        else:
            compute = partial(two_passes.propagate, turn, before_last)
        splits, outcomes = split_to_fit(compute, gradients.start_again, splits=splits, rows=source.micro_batch_rows)
        for objective, outcome in outcomes:
            sums.add(objective, outcome)
        gradients.end_round()
    gradients.settle()
    return splits


def compare_examples(
    learner: Module,
    objective: CoupledObjective[Any, Any],
    source: Source,
    step: int,
    micro_batches: Sequence[MicroBatch],
    sums: Sums,
    world: World,
    options: StepOptions,
) -> tuple[int, TwoPasses]:
    """The loss of a step that compares its examples with each other; what is left to do is to propagate it."""

    def seed_of(micro_batch: MicroBatch, chunk: int) -> int:
        return micro_batch_seed(source.seed, micro_batch.number, chunk)

    alone = source.micro_batches == 1
    two_passes = TwoPasses(learner, objective, seed_of, options.precision, alone=alone)
    splits, rows = split_to_fit(
        partial(two_passes.represent, micro_batches),
        lambda: None,
        splits=options.splits,
        rows=source.micro_batch_rows,
    )
    numbers = [planned_batch.number for planned_batch in source.plan_step(step)]
    outcome = two_passes.compare(rows, micro_batches, numbers, sums, world)
    if world.first:  # every process has the loss of the whole step, which is counted once
        sums.add(objective, outcome)
    return splits, two_passes


def outcomes_of(
    learner: Module,
    micro_batches: Sequence[MicroBatch],
    sums: Sums,
    seed: int,
    precision: Precision,
    before_last: Callable[[], None] | None,
    splits: int,
) -> list[tuple[AnyObjective, Outcome]]:
    """What each part of each micro-batch gave, its gradients added to those of the learner."""
    chunks = [(micro, nth, chunk) for micro in micro_batches for nth, chunk in enumerate(micro.batch.cut(splits))]
    outcomes = []
    for remaining, (micro, nth, chunk) in zip(reversed(range(len(chunks))), chunks, strict=True):
        torch.manual_seed(micro_batch_seed(seed, micro.number, nth))
        with precision.casting():
            outcome = micro.objective.outcome(learner, chunk)
        if before_last and not remaining:
            before_last()
        precision.scale_loss(sums.loss_of(micro.objective, outcome)).backward()
        outcomes.append((micro.objective, outcome))
    return outcomes


def micro_batch_seed(seed: int, number: int, chunk: int = 0) -> int:
    """What dropout is drawn from: a function of the micro-batch's number in the whole run, and of its part's."""
    return int(Draws.of(seed, chunk, np.array([number])).keys[0]) >> 1
