"""The one loop: micro-batches to gradients to weights, step by step.

In: a model, a feed and the settings. Out: the model, trained; on the way, logged steps, validations and checkpoints.

Step k is a function of (data, settings, seed, k): its blocks, its hidden positions, its dropout and its learning rate
come from the number k, so a run that was stopped goes on from the weights, the optimizer's state and one integer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch.nn import Module
from torch.nn.utils import clip_grad_norm_
from transformers import PreTrainedModel

from unmask.corruption.lexicon import Lexicon
from unmask.corruption.plan import Plan as Hiding
from unmask.corruption.plan import parse
from unmask.corruption.randomness import Draws
from unmask.errors import BadInput, Diverged
from unmask.objectives import mlm, table
from unmask.objectives.objective import Objective
from unmask.tokens.collate import HeldOutSet
from unmask.tokens.dataset import Dataset
from unmask.tokens.examine import marked_spans
from unmask.tokens.phrases import lexicon as phrase_lexicon
from unmask.tokens.phrases import read_list
from unmask.training.distributed import ALONE, World
from unmask.training.feed import Feed
from unmask.training.gradients import gradients_of
from unmask.training.optimizer import Optimizer, Optimizing, rate_at
from unmask.training.sums import Sums

PATIENCE = 5  # steps in a row that may be skipped before the run stops


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model is trained: everything but the model, the data and the budget."""

    length: int = 128  # tokens in a block
    rows: int = 16  # blocks in a step
    micro: int = 16  # blocks in a micro-batch, the unit of work
    objective: str = "mlm"  # what is learnt from it, as `objectives.table` reads it: "causal until 0.5; mlm"
    policy: str | None = "token"  # what is hidden, as `corruption.plan` reads it: "span 0.7, token 0.3"; none: nothing
    rate: str | None = "linear 0.25 0.15"  # falling, which beats constant (Ankner et al. 2024); none: the policy's own
    phrases: str | None = None  # a list of what entity, phrase and collocation hide whole; none: as the data marks
    static_masks: bool = False  # the same blocks and the same hidden tokens in every epoch
    dropout: float = 0.0  # none for a single pass over the data
    optimizing: Optimizing = field(default_factory=Optimizing)

    def __post_init__(self) -> None:
        for name, least in (("length", 3), ("rows", 1), ("micro", 1)):
            if (value := getattr(self, name)) < least:
                raise BadInput(f"--{name} {value}: give {least} or more")


@dataclass(frozen=True)
class Position:
    """Where a run stands: what a checkpoint keeps besides tensors."""

    step: int = 0  # steps done
    tokens: int = 0  # tokens seen
    skipped: int = 0  # steps skipped in a row
    seconds: float = 0.0  # spent training, over all sittings


@dataclass(frozen=True)
class Measured:
    """Loss and accuracy over the hidden tokens of some examples."""

    loss: float
    accuracy: float  # not a number where there is none
    predicted: int

    def __str__(self) -> str:
        return f"{self.loss:.2f}" + (f", {self.accuracy:.0%}" if isfinite(self.accuracy) else "")


@dataclass(frozen=True)
class Stepped:
    """What one step did."""

    loss: float
    figures: dict[str, float]  # what its objectives measured
    predicted: int
    gradient: float  # norm before clipping
    applied: bool
    tokens: int
    blocks: list[int]


def take_step(learner: Module, optimizer: Optimizer, feed: Feed, step: int, world: World) -> Stepped:
    """One step: everything predicted in its micro-batches weighs alike; non-finite numbers are never applied."""
    lessons = feed.lessons(step, world.share(feed.micros))
    sums = Sums(feed.objectives(step))
    for lesson in lessons:
        sums.count(lesson.objective, lesson.batch)
    sums.counted(world)
    gradients = gradients_of(learner.parameters(), world)
    for nth in range(-(-feed.micros // world.size)):  # as many rounds for a process with fewer micro-batches
        for lesson in lessons[nth : nth + 1]:
            torch.manual_seed(micro_batch_seed(feed.seed, lesson.number))
            outcome = lesson.objective.outcome(learner, lesson.batch)
            if lesson is lessons[-1]:
                gradients.expect_last()
            sums.loss_of(lesson.objective, outcome).backward()
            sums.add(lesson.objective, outcome)
        gradients.end_round()
    gradients.settle()
    sums.added(world)
    norm = float(clip_grad_norm_(learner.parameters(), optimizer.settings.clip))
    applied = isfinite(sums.loss) and isfinite(norm)
    if applied:
        optimizer.step(step, feed.steps)
    optimizer.clear()
    blocks = [int(n) for lesson in lessons for n in lesson.batch.numbers]
    return Stepped(sums.loss, sums.figures, int(sums.predicted), norm, applied, int(sums.tokens), blocks)


def micro_batch_seed(seed: int, number: int) -> int:
    """What dropout is drawn from: a function of the micro-batch's number in the whole run."""
    return int(Draws.of(seed, 0, np.array([number])).keys[0]) >> 1


@torch.no_grad()
def validate(model: PreTrainedModel, examples: HeldOutSet, limit: int | None = None, world: World = ALONE) -> Measured:
    """Loss and accuracy on the fixed held-out examples, whose batches the processes share."""
    loss, correct, predicted = 0.0, 0.0, 0.0
    with evaluating(model):
        for held_out in islice(examples.batches(limit=limit), world.rank, None, world.size):
            restored = mlm.restore(model, held_out.batch)
            loss += restored.loss.item()
            correct += int(restored.correct.item())
            predicted += restored.predicted
    loss, correct, predicted = world.total(loss, correct, predicted)
    return Measured(loss / max(1, predicted), correct / max(1, predicted), int(predicted))


@torch.no_grad()
def measure(
    learner: Module, objective: Objective, examples: HeldOutSet, limit: int | None = None, world: World = ALONE
) -> Sums:
    """What an objective measures of itself on held-out examples of its own kind, which the processes share."""
    sums = Sums([objective])
    with evaluating(learner):
        for number, held_out in enumerate(islice(examples.batches(limit=limit), world.rank, None, world.size)):
            torch.manual_seed(micro_batch_seed(examples.seed, number * world.size + world.rank))
            sums.count(objective, held_out.batch)
            sums.add(objective, objective.outcome(learner, held_out.batch))
    sums.counted(world)
    sums.added(world)
    return sums


@contextmanager
def evaluating(model: Module) -> Iterator[None]:
    """No dropout inside the block."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def hiding_of(settings: Training, curriculum: table.Curriculum) -> Hiding | None:
    """What is hidden, if it fits whatever learns from it."""
    learning = [objective for objective in curriculum.objectives if objective.policies]
    if settings.policy is None:
        for objective in learning:
            fitting = ", ".join(sorted(objective.policies))
            raise BadInput(f"the objective {objective.name} needs a --policy: {fitting}")
        return None
    hiding = parse(settings.policy, settings.rate, fresh=not settings.static_masks)
    if not learning:
        name = curriculum.main.name
        raise BadInput(f"--policy {settings.policy}: the objective {name} takes text as it is; leave --policy out")
    for objective in learning:
        if unfit := hiding.policies - objective.policies:
            fitting = ", ".join(sorted(objective.policies))
            raise BadInput(f"--policy {min(unfit)}: the objective {objective.name} learns from what {fitting} hide")
    return hiding


def feed_of(settings: Training, dataset: Dataset, steps: int, seed: int, *, packs: bool = True) -> Feed:
    """The feed that the settings describe, for a run of so many steps."""
    curriculum = table.parse(settings.objective)
    hiding = hiding_of(settings, curriculum)
    lexicons: dict[str, Lexicon] = {}
    if settings.phrases is not None and hiding is not None:
        phrases = phrase_lexicon(dataset.tokenizer(), read_list(settings.phrases), dataset.segmenter())
        lexicons = dict.fromkeys(hiding.spanned, phrases)
    return Feed(
        stream=dataset.split("train"),
        vocabulary=dataset.vocabulary,
        hiding=hiding,
        curriculum=curriculum,
        length=settings.length,
        rows=settings.rows,
        micro=min(settings.micro, settings.rows),
        steps=steps,
        seed=seed,
        marks=lexicons,
        spans={} if lexicons or hiding is None else marked_spans(dataset, hiding, "train"),
        fresh=not settings.static_masks,
        packs=packs,
    )


def train(
    learner: Module,
    optimizer: Optimizer,
    feed: Feed,
    *,
    position: Position,
    after_step: Callable[[Position, dict[str, Any]], None],
    world: World = ALONE,
) -> Position:
    """Train from a position to the last step; `after_step` logs, validates, saves and may stop by raising."""
    learner.train()
    rates = optimizer.settings
    while position.step < feed.steps:
        begun = time.perf_counter()
        did = take_step(learner, optimizer, feed, position.step, world)
        seconds = time.perf_counter() - begun
        factor = rate_at(position.step, feed.steps, rates.warmup, rates.decay)
        figures: dict[str, Any] = {
            "step": position.step + 1,
            "loss": did.loss,
            **did.figures,
            "hidden_rate": did.predicted / max(1, did.tokens),
            "learning_rate": rates.adamw * factor,
            "gradient_norm": did.gradient,
            "tokens": position.tokens + did.tokens,
            "tokens_per_second": did.tokens / seconds,
        }
        if not did.applied:
            figures |= {"skipped": True, "blocks": did.blocks}
        position = replace(
            position,
            step=position.step + 1,
            tokens=position.tokens + did.tokens,
            skipped=0 if did.applied else position.skipped + 1,
            seconds=position.seconds + seconds,
        )
        after_step(position, figures)
        if position.skipped >= PATIENCE:
            raise Diverged(
                f"step {position.step}: the loss or its gradient was not finite in {PATIENCE} steps in a row "
                f"(blocks of the last: {', '.join(map(str, did.blocks[:8]))} …); lower the learning rate"
            )
    return position
