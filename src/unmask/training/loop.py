"""The one loop: micro-batches to gradients to weights, step by step.

In: a model, a feed and the settings. Out: the model, trained; on the way, logged steps, validations and checkpoints.

Step k is a function of (data, settings, seed, k): its blocks, its hidden positions, its dropout and its learning rate
come from the number k, so a run that was stopped goes on from the weights, the optimizer's state and one integer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import torch
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.corruption.schedule import MaskingSchedule, parse_schedule
from unmask.errors import BadInput, Diverged
from unmask.objectives import curriculum as table
from unmask.objectives import mlm
from unmask.objectives.objective import Objective
from unmask.pretraining.feed import Feed
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.sample import Sampling
from unmask.tokens.spans.lexicon import Lexicon
from unmask.tokens.spans.marked import marked_spans
from unmask.tokens.spans.phrases import phrase_lexicon, read_phrases
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.sentinels import sentinels_for
from unmask.training import health
from unmask.training.health import Recent
from unmask.training.loader import Loader
from unmask.training.machine.distributed import ALONE, World
from unmask.training.machine.sharding import whole
from unmask.training.optimizer import Optimizer, Optimizing, rate_at
from unmask.training.precision import FLOAT32, Precision
from unmask.training.step import Care, Stepped, micro_batch_seed, take_step
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
    rate: str | None = "linear 0.3 0.15"  # falling, which beats constant (Ankner et al. 2024); none: the policy's own
    phrases: str | None = None  # a list of what entity, phrase and collocation hide whole; none: as the data marks
    smoothing: float | None = None  # languages are sampled with their shares to this power; none: as the text has them
    static_masks: bool = False  # the same blocks and the same hidden tokens in every epoch
    dropout: float = 0.0  # none for a single pass over the data
    skip_spikes: bool = False  # leave out steps whose loss or gradient is far above the ones before
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
    skipped: int = 0  # steps in a row whose numbers were not finite
    seconds: float = 0.0  # spent training, over all sittings
    parts: int = 1  # that a micro-batch is computed in, for it to fit into memory
    recent: Recent = field(default_factory=Recent)  # what is usual

    @classmethod
    def of(cls, state: dict[str, Any]) -> Position:
        """The position that `dataclasses.asdict` described; `ValueError` or `TypeError` where it is none."""
        known = {**state, "recent": Recent.of(state.get("recent", {}))}
        for name, value in known.items():
            if name != "recent" and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
                raise ValueError(f"{name} is {value!r}")
        return cls(**known)

    def after(self, did: Stepped, seconds: float) -> Position:
        """The position when a step is done."""
        return Position(
            step=self.step + 1,
            tokens=self.tokens + did.tokens,
            skipped=0 if did.finite else self.skipped + 1,
            seconds=self.seconds + seconds,
            parts=did.parts,
            recent=self.recent.after(did.loss, did.gradient) if did.finite else self.recent,
        )


@dataclass(frozen=True)
class Measured:
    """Loss and accuracy over the hidden tokens of some examples."""

    loss: float
    accuracy: float  # not a number where there is none
    predicted: int

    def __str__(self) -> str:
        return f"{self.loss:.2f}" + (f", {self.accuracy:.0%}" if isfinite(self.accuracy) else "")


@torch.no_grad()
def validate(model: PreTrainedModel, examples: HeldOutSet, limit: int | None = None, world: World = ALONE) -> Measured:
    """Loss and accuracy on the fixed held-out examples, whose batches the processes share."""
    loss, correct, predicted = 0.0, 0.0, 0.0
    with evaluating(model):
        for held_out, own in world.dealt(examples.batches(limit=limit)):
            restored = mlm.restore(model, held_out.batch)
            loss += own * restored.loss.item()
            correct += own * int(restored.correct.item())
            predicted += own * restored.predicted
    loss, correct, predicted = world.total(loss, correct, predicted)
    return Measured(loss / max(1, predicted), correct / max(1, predicted), int(predicted))


@torch.no_grad()
def measure(
    learner: Module, objective: Objective, examples: HeldOutSet, limit: int | None = None, world: World = ALONE
) -> Sums:
    """What an objective measures of itself on held-out examples of its own kind, which the processes share."""
    sums = Sums([objective])
    with evaluating(learner):
        for number, (held_out, own) in enumerate(world.dealt(examples.batches(limit=limit))):
            torch.manual_seed(micro_batch_seed(examples.seed, number * world.size + world.rank))
            outcome = objective.outcome(learner, held_out.batch)
            if own:
                sums.count(objective, held_out.batch)
                sums.add(objective, outcome)
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


def hiding_of(settings: Training, curriculum: table.Curriculum) -> MaskingSchedule | None:
    """What is hidden, if it fits whatever learns from it."""
    learning = [objective for objective in curriculum.objectives if objective.policies]
    if settings.policy is None:
        for objective in learning:
            fitting = ", ".join(sorted(objective.policies))
            raise BadInput(f"the objective {objective.name} needs a --policy: {fitting}")
        return None
    hiding = parse_schedule(settings.policy, settings.rate, redraw=not settings.static_masks)
    if not learning:
        name = curriculum.main.name
        raise BadInput(f"--policy {settings.policy}: the objective {name} takes text as it is; leave --policy out")
    for objective in learning:
        if unfit := hiding.policies - objective.policies:
            fitting = ", ".join(sorted(objective.policies))
            raise BadInput(f"--policy {min(unfit)}: the objective {objective.name} learns from what {fitting} hide")
    return hiding


def fitted(dataset: Dataset, settings: Training) -> Dataset:
    """The data with a tokenizer that has all the policy needs: sentinels, where they stand for what is hidden."""
    hiding = hiding_of(settings, table.parse(settings.objective))
    if hiding is None or "sentinel" not in hiding.policies:
        return dataset
    return dataset.with_sentinels(sentinels_for(hiding, settings.length))


def feed_of(settings: Training, dataset: Dataset, steps: int, seed: int, *, packs: bool = True) -> Feed:
    """The feed that the settings describe, for a run of so many steps."""
    dataset = fitted(dataset, settings)
    curriculum = table.parse(settings.objective)
    hiding = hiding_of(settings, curriculum)
    lexicons: dict[str, Lexicon] = {}
    if settings.phrases is not None and hiding is not None:
        phrases = phrase_lexicon(dataset.tokenizer(), read_phrases(settings.phrases), dataset.segmenter())
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
        sampling=None if settings.smoothing is None else Sampling(dataset.languages("train"), settings.smoothing),
    )


def train(
    learner: Module,
    optimizer: Optimizer,
    feed: Feed,
    *,
    position: Position,
    after_step: Callable[[Position, dict[str, Any]], None],
    world: World = ALONE,
    workers: int = 0,
    skip_spikes: bool = False,
    precision: Precision = FLOAT32,
) -> Position:
    """Train from a position to the last step; `after_step` logs, validates, saves and may stop by raising."""
    learner.train()
    first = position.step
    with Loader(feed, world.share(feed.micros), first=first, workers=workers) as loader:
        while position.step < feed.steps:
            begun = time.perf_counter()
            lessons = loader.lessons(position.step)
            waited = time.perf_counter() - begun
            care = Care(position.parts, position.recent, skip_spikes, position.step > first, precision)
            did = take_step(learner, optimizer, feed, position.step, world, lessons, care)
            seconds = max(time.perf_counter() - begun, 1e-9)
            position = position.after(did, seconds)
            figures = figures_of(did, position, optimizer.settings, feed, seconds) | {"waited": waited / seconds}
            after_step(position, figures)
            if not did.finite:
                stop_if_hopeless(learner, position, feed)
    return position


def figures_of(did: Stepped, now: Position, rates: Optimizing, feed: Feed, seconds: float) -> dict[str, Any]:
    """What is logged of a step."""
    figures: dict[str, Any] = {
        "step": now.step,
        "loss": did.loss,
        **did.figures,
        "hidden_rate": did.predicted / max(1, did.tokens),
        "learning_rate": rates.adamw * rate_at(now.step - 1, feed.steps, rates.warmup, rates.decay),
        "gradient_norm": did.gradient,
        "tokens": now.tokens,
        "tokens_per_second": did.tokens / seconds,
    }
    if did.parts > 1:
        figures["parts"] = did.parts
    if did.spike:
        figures["spike"] = did.spike
    if not did.applied:
        figures["skipped"] = True
    if did.spike or not did.applied:
        figures["blocks"] = feed.blocks(now.step - 1)
    return figures


def stop_if_hopeless(learner: Module, position: Position, feed: Feed) -> None:
    """Stop where skipping steps cannot help: the weights are not finite, or one step after the other is not."""
    health.check(((name, whole(parameter.detach())) for name, parameter in learner.named_parameters()), position.step)
    if position.skipped >= PATIENCE:
        blocks = feed.blocks(position.step - 1)
        raise Diverged(
            f"step {position.step}: the loss or its gradient was not finite in {PATIENCE} steps in a row "
            f"(blocks of the last: {', '.join(map(str, blocks[:8]))} …); lower the learning rate"
        )
