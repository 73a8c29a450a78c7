"""What a step costs, counted without computing it: weights, operations and memory of a recipe.

In: a recipe, and data or at least the size of a vocabulary. Out: counts that are exact for the model as it is built:
the learner is built on torch's meta device, where tensors have shapes and no content, and the recipe's own objective is
run forward and backward on the run's own micro-batches, while the operations of every matrix product, the bytes of
everything kept for backward and the kernels that a GPU would be given are counted. Where an objective has to look at
numbers, a few rows are computed instead. Layers are transformers' own, as on a GPU: that the last one of a ModernBERT
computes less on a CPU (`models.modernbert_cpu`) is left out of account, so that kinds can be given equal operations.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import Module
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from unmask.corruption.schedule import parse_schedule
from unmask.planning.launches import LaunchCounter, optimizer_launches
from unmask.pretraining.feed import Feed
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.settings import Recipe
from unmask.records import Flags, Ids, Integers, Vocabulary
from unmask.tokens.spans.marked import Spans
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.shards import Shards
from unmask.training.job import MicroBatch
from unmask.training.machine.computing import Computing, make_ready
from unmask.training.optimizer import Muon, Optimizer, OptimizerPart, orthogonalize
from unmask.training.precision import Precision
from unmask.training.timetable import Timetable

LOOKS = 5  # micro-batches that are counted at each length, spread over it: rates and objectives change on the way
FLOAT = 4  # bytes of a weight, a gradient, a number of the optimizer's state
SMALL_BATCH_TOKENS = 1024  # tokens that are computed where counting needs numbers
IMAGINED_TOKENS = 1 << 20  # tokens of a text that is only a length


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a recipe costs; operations are multiplications and additions, both counted."""

    parameters: int
    by_optimizer: dict[str, int]  # of the parameters
    state: dict[str, int]  # bytes that each optimizer keeps
    forward: float  # operations of a micro-batch
    backward: float
    optimizing: float  # operations of an optimizer's step, on each device
    activations: int  # bytes kept for the backward pass of a micro-batch, at the most
    logits: int  # bytes of what is as wide as the vocabulary; its gradient takes its place
    micro_batches: int  # in a step
    launches: int  # kernels of a micro-batch, forward and backward, where products are float32
    optimizer_launches: int
    matrices: int  # weights that are multiplied by

    @property
    def a_step(self) -> float:
        """Operations of a whole step."""
        return (self.forward + self.backward) * self.micro_batches + self.optimizing

    @property
    def weights(self) -> int:
        """Bytes of the weights; the gradients are as many."""
        return self.parameters * FLOAT

    @property
    def checkpoint(self) -> int:
        """Bytes of a checkpoint: weights and the optimizers' state."""
        return self.weights + sum(self.state.values())


def cost_of(pretraining: Pretraining, *, steps: int = 1000) -> Cost:
    """Count what a recipe costs on some data, in a run of so many steps."""
    feed, vocabulary = pretraining.feed(Timetable(steps)), pretraining.dataset.vocabulary.size
    with torch.device("meta"):
        learner = pretraining.learner(fresh=False).train()
    optimizer = Optimizer(learner, pretraining.recipe.settings.optimizing)
    looks = _looks(feed)
    try:
        costs = [micro_batch_cost(learner, micro_batch, vocabulary) for micro_batch, _ in looks]
    except (RuntimeError, NotImplementedError):  # an objective that draws or compares needs numbers: a few rows of them
        computed, small = pretraining.learner(fresh=False).train(), _few_rows(feed)
        factor = feed.preparer.micro_batch / small.preparer.micro_batch
        costs = [micro_batch_cost(computed, micro_batch, vocabulary).times(factor) for micro_batch, _ in _looks(small)]
    shares = [share for _, share in looks]
    muon = [matrix for part in optimizer.parts if isinstance(part.optimizer, Muon) for matrix in part.parameters]
    return Cost(
        parameters=sum(parameter.numel() for parameter in learner.parameters()),
        by_optimizer={part.name: sum(parameter.numel() for parameter in part.parameters) for part in optimizer.parts},
        state={part.name: _state(part) for part in optimizer.parts},
        forward=float(np.average([cost.forward for cost in costs], weights=shares)),
        backward=float(np.average([cost.backward for cost in costs], weights=shares)),
        optimizing=float(sum(map(muon_flops, muon))),
        activations=max(cost.activations for cost in costs),
        logits=max(cost.logits for cost in costs),
        micro_batches=feed.micro_batches,
        launches=max(cost.launches for cost in costs),
        optimizer_launches=optimizer_launches(optimizer),
        matrices=sum(parameter.ndim > 1 for parameter in learner.parameters()),
    )


def _state(part: OptimizerPart) -> int:
    """Bytes that an optimizer keeps."""
    counters = len(part.parameters) if part.counters else 0
    return (sum(parameter.numel() for parameter in part.parameters) * part.averages + counters) * FLOAT


@dataclass
class MicroBatchCost:
    """One micro-batch."""

    vocabulary: int
    forward: int = 0
    backward: int = 0
    activations: int = 0
    logits: int = 0
    launches: int = 0
    storages: set[int] = field(default_factory=set)
    alive: list[Tensor] = field(default_factory=list)  # a storage that is gone may give its place to another

    def times(self, factor: float) -> MicroBatchCost:
        """With so many times as many rows: all of it grows but the number of kernels."""
        forward, backward = int(factor * self.forward), int(factor * self.backward)
        activations, logits = int(factor * self.activations), int(factor * self.logits)
        return MicroBatchCost(self.vocabulary, forward, backward, activations, logits, self.launches)

    def keep(self, tensor: Tensor) -> Tensor:
        """Count what is kept for backward, each storage once."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self.storages:
            self.storages.add(storage._cdata)
            self.alive.append(tensor)
            if tensor.shape[-1:] == (self.vocabulary,):
                self.logits += storage.nbytes()  # their gradient takes their place
            else:
                self.activations += storage.nbytes()
        return tensor


def micro_batch_cost(learner: Module, micro_batch: MicroBatch, vocabulary: int) -> MicroBatchCost:
    """Operations and bytes of one micro-batch, forward and backward."""
    cost = MicroBatchCost(
        vocabulary, storages={parameter.untyped_storage()._cdata for parameter in learner.parameters()}
    )
    with LaunchCounter() as counter, FlopCounterMode(display=False) as flops, CountedAttention():
        with saved_tensors_hooks(cost.keep, lambda tensor: tensor):
            outcome = micro_batch.objective.outcome(learner, micro_batch.batch)
        cost.forward = flops.get_total_flops()
        torch.stack([loss.sum() for loss in outcome.losses.values()]).sum().backward()
        cost.backward = flops.get_total_flops() - cost.forward
    cost.launches = counter.launches
    cost.alive.clear()
    learner.zero_grad(set_to_none=True)
    return cost


def kept_on_processor(pretraining: Pretraining, computing: Computing) -> tuple[int, int]:
    """Bytes that a micro-batch keeps for backward on this machine's processors, and of them those of logits.

    Computed on a few rows: which numbers a layer keeps in half precision is up to the kernels that compute it here.
    """
    feed = _few_rows(pretraining.feed(Timetable(2)))  # a step of the first length, and one of the last
    factor = (
        min(pretraining.recipe.settings.micro_batch, pretraining.recipe.settings.batch_size) / feed.preparer.micro_batch
    )
    learner = make_ready(pretraining.learner(fresh=False), computing, torch.device("cpu")).train()
    parameters = {parameter.untyped_storage()._cdata for parameter in learner.parameters()}
    costs = []
    for micro_batch, _ in _looks(feed):
        costs.append(MicroBatchCost(pretraining.dataset.vocabulary.size, storages=set(parameters)))
        with saved_tensors_hooks(costs[-1].keep, lambda tensor: tensor), Precision(computing.precision).casting():
            micro_batch.objective.outcome(learner, micro_batch.batch)
        costs[-1].alive.clear()
    activations, logits = (max(getattr(cost, name) for cost in costs) for name in ("activations", "logits"))
    return int(factor * activations), int(factor * logits)


class CountedAttention(TorchFunctionMode):
    """Attention as fused kernels compute it, who never keep its L×L weights; on the meta device there is no such."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Take the place of scaled dot product attention."""
        if func is F.scaled_dot_product_attention:
            inputs = dict(zip(("query", "key", "value"), args, strict=False)) | (kwargs or {})
            return _Attention.apply(inputs["query"], inputs["key"], inputs["value"])  # type: ignore[no-untyped-call]
        return func(*args, **(kwargs or {}))


class _Attention(torch.autograd.Function):
    """The products of attention, two forward and four backward, with nothing kept but their ends."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = query @ key.mT @ value
        ctx.save_for_backward(query, key, value, out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value, _ = ctx.saved_tensors
        weights = gradient @ value.mT  # in the place of the weights too: on the meta device only shapes count
        return weights @ key, weights.mT @ query, weights.mT @ gradient


def muon_flops(matrix: Tensor) -> int:
    """Operations that Muon spends on a matrix."""
    with FlopCounterMode(display=False) as flops:
        orthogonalize(torch.empty(1, *matrix.shape, device="meta"))
    return int(flops.get_total_flops())


def _looks(feed: Feed) -> list[tuple[MicroBatch, float]]:
    """A micro-batch each from places all over the stages of the run, and the share of the run that each stands for."""
    looks = []
    for begin, end in pairwise((0.0, *feed.lengths.ends)):
        first, last = (ceil(share * (feed.timetable.steps - 1)) for share in (begin, end))
        last -= end < 1
        if last < first:  # so short a run has no step in this stage
            continue
        places = sorted({round(place) for place in np.linspace(first, last, LOOKS)})
        for nth, step in enumerate(places):
            planned = list(feed.plan_step(step))
            micro_batch = planned[nth % len(planned)]
            batch = feed.preparer.batch(micro_batch.request)
            looks.append((MicroBatch(micro_batch.number, micro_batch.objective, batch), (end - begin) / len(places)))
    return looks


def _few_rows(feed: Feed) -> Feed:
    """The same micro-batches with few rows, where they have to be computed."""
    batches = feed.preparer
    rows = max(1, min(batches.micro_batch, SMALL_BATCH_TOKENS // batches.length))
    return replace(feed, preparer=replace(batches, micro_batch=rows))


class ImaginedDataset(Dataset):
    """Data of which only the vocabulary's size is known: one long document that says the same token again and again."""

    @classmethod
    def of(cls, size: int) -> ImaginedDataset:
        """Data with a vocabulary of this size."""
        return cls(Path("imagined data"), {"vocabulary": size})

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """As `prepare` would make it: a few special tokens, and the rest."""
        size = int(self.manifest["vocabulary"])
        sentinels = tuple(range(size, size + self.sentinels))
        return Vocabulary(size + self.sentinels, 4, 0, 2, 3, (0, 1, 2, 3, 4, *sentinels), sentinels)

    def split(self, name: str) -> Shards:
        """The text, which has no file."""
        return cast(Shards, RepeatedToken(int(self.manifest["vocabulary"]) - 1))

    def spans(self, name: str) -> dict[str, Spans]:
        """Nothing is marked."""
        return {}

    def languages(self, name: str) -> Integers:
        """One language."""
        return np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class RepeatedToken:
    """One long document that says the same token again and again, each a word."""

    token: int

    @property
    def ends(self) -> Integers:
        """One document."""
        return np.array([IMAGINED_TOKENS])

    def read(self, start: int, stop: int) -> tuple[Ids, Flags]:
        """Words of one token."""
        return np.full(stop - start, self.token, dtype=np.int32), np.ones(stop - start, dtype=np.bool_)


def without_marks(recipe: Recipe) -> Recipe:
    """The recipe on text in which nothing is marked: where it hides marked spans, words are as good for counting."""
    settings = recipe.settings
    if settings.policy is None or not parse_schedule(settings.policy, settings.rate).span_kinds:
        return recipe
    return replace(recipe, settings=replace(settings, policy="word", phrases=None))
