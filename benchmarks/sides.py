"""Both sides of a comparison as contenders: steps of Trainer and steps of ours, taken one at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import rival
import torch
from turns import Turn

from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.settings import Recipe
from unmask.tokens.store.dataset import Dataset
from unmask.training import loop
from unmask.training.job import MicroBatch, micro_batches_of
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import PLAIN, Computing
from unmask.training.machine.distributed import ALONE
from unmask.training.machine.sharding import clip_gradients
from unmask.training.session import Session
from unmask.training.step import StepOptions, take_step
from unmask.training.sums import Sums

PREPARED = 4  # steps whose batches are made beforehand for the bare passes


def theirs(turn: Turn, *, data: Path, plan: rival.Plan, keep: bool = False) -> None:
    """Steps of Trainer, from one callback to the next: loading, collating, both passes and AdamW."""
    if keep:
        keep_large_blocks()
    rival.trainer_of(Dataset.open(data), plan, lambda _: turn()).train()


def ours(
    turn: Turn,
    *,
    data: Path,
    recipe: Recipe,
    steps: int,
    spread: int = 0,
    keep: bool = True,
    computing: Computing = PLAIN,
) -> None:
    """Steps of our loop: feeding, both passes and the optimizer; `spread` of them, evenly over the run."""
    if keep:
        keep_large_blocks()
    work = session_of(Dataset.open(data), recipe, steps, computing)
    for number in count():
        step(work, number * steps // spread % steps if spread else number % steps)
        turn()


def session_of(dataset: Dataset, recipe: Recipe, steps: int, computing: Computing = PLAIN, seed: int = 0) -> Session:
    """A recipe at its beginning, as a run has it in memory."""
    return Session.begin(Pretraining.of(dataset, recipe, seed).job(), steps, computing)


def train(
    work: Session, after_step: Callable[[loop.Position, Any], None] | None = None, position: loop.Position | None = None
) -> None:
    """A run to its end, from its beginning or from where it was, in the precision it has."""
    loop.train(
        work.learner,
        work.optimizer,
        work.source,
        position=position or loop.Position(),
        after_step=after_step or (lambda _position, _figures: None),
        precision=work.precision,
    )


def step(work: Session, number: int) -> None:
    """One step of a run, as the loop takes it."""
    work.learner.train()
    take_step(work.learner, work.optimizer, work.source, step=number, options=StepOptions(precision=work.precision))


def bare(turn: Turn, *, data: Path, recipe: Recipe, steps: int, computing: Computing = PLAIN) -> None:
    """Both passes and the optimizer on batches made beforehand: what a step cannot do without."""
    keep_large_blocks()
    work = session_of(Dataset.open(data), recipe, steps, computing)
    work.learner.train()
    prepared = [micro_batches_of(work.source, number) for number in range(PREPARED)]
    for number in count():
        learn(work, prepared[number % PREPARED], number % steps)
        turn()


def learn(work: Session, micro_batches: list[MicroBatch], number: int) -> None:
    """Both passes over the micro-batches of a step, and the optimizer; nothing else."""
    sums = Sums([micro.objective for micro in micro_batches])
    for micro in micro_batches:
        sums.count(micro.objective, micro.batch)
    sums.reduce_counts(ALONE)
    for micro in micro_batches:
        with work.precision.casting():
            outcome = micro.objective.outcome(work.learner, micro.batch)
        sums.loss_of(micro.objective, outcome).backward()
    clip_gradients(work.learner.parameters(), work.job.optimizing.clip)
    work.optimizer.step(number, work.steps)
    work.optimizer.clear()


def matrix_product(turn: Turn, *, size: int = 2048, times: int = 4) -> None:
    """Float32 products of two large square matrices: what the processors can do at best."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    product = torch.empty(size, size)
    while True:
        for _ in range(times):
            torch.mm(a, b, out=product)
        turn()
