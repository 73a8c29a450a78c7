"""What a step costs, counted without computing it: weights, operations and memory of a recipe.

In: a recipe, and data or at least the size of a vocabulary. Out: counts that are exact for the model as it is built:
the learner is built on torch's meta device, where tensors have shapes and no content, and the recipe's own objective is
run forward and backward on the run's own micro-batches, while the operations of every matrix product and the bytes of
everything kept for backward are counted. Where an objective has to look at numbers, a few rows are computed instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import Module
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from unmask.models.families.family import FAMILIES
from unmask.objectives import curriculum as table
from unmask.pretraining.feed import Feed, Lesson
from unmask.records import Flags, Ids, Integers, Vocabulary
from unmask.tokens.store.dataset import Dataset
from unmask.training import loop
from unmask.training.optimizer import Muon, Optimizer, orthogonal
from unmask.training.session import Recipe, fresh

LOOKS = 5  # micro-batches that are counted, spread over the run: rates and objectives change on the way
FLOAT = 4  # bytes of a weight, a gradient, a number of the optimizer's state
AVERAGES = 2  # that AdamW keeps of each weight's gradient
FEW = 1024  # tokens that are computed where counting needs numbers
IMAGINED = 1 << 20  # tokens of a text that is only a length


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a recipe costs; operations are multiplications and additions, both counted."""

    parameters: int
    by_muon: int  # of the parameters; AdamW has the rest
    tensors: int  # that AdamW has: each brings a counter along
    forward: float  # operations of a micro-batch
    backward: float
    optimizing: float  # operations of an optimizer's step, on each device
    activations: int  # bytes kept for the backward pass of a micro-batch, at the most
    logits: int  # bytes of what is as wide as the vocabulary; its gradient takes its place
    micros: int  # micro-batches in a step

    @property
    def a_step(self) -> float:
        """Operations of a whole step."""
        return (self.forward + self.backward) * self.micros + self.optimizing

    @property
    def weights(self) -> int:
        """Bytes of the weights; the gradients are as many."""
        return self.parameters * FLOAT

    @property
    def adamw(self) -> int:
        """Bytes that AdamW keeps."""
        return (self.parameters - self.by_muon) * AVERAGES * FLOAT + self.tensors * FLOAT

    @property
    def muon(self) -> int:
        """Bytes that Muon keeps."""
        return self.by_muon * FLOAT

    @property
    def checkpoint(self) -> int:
        """Bytes of a checkpoint: weights and the optimizers' state."""
        return self.weights + self.adamw + self.muon


def cost(recipe: Recipe, data: Dataset | Imagined, *, steps: int = 1000, seed: int = 0) -> Cost:
    """Count what a recipe costs on some data, in a run of so many steps."""
    settings = recipe.training
    data = loop.fitted(data, settings)  # type: ignore[arg-type]
    feed = loop.feed_of(settings, data, steps, seed, packs=FAMILIES[recipe.family].packs)
    objective = table.parse(settings.objective).main
    with torch.device("meta"):
        learner = fresh(objective, data, recipe, seed).train()
    optimizer = Optimizer(learner, settings.optimizing)
    muons = [each for part, _ in optimizer.parts if isinstance(part, Muon) for each in _parameters(part)]
    adamws = [each for part, _ in optimizer.parts if not isinstance(part, Muon) for each in _parameters(part)]
    try:
        counted = [counts(learner, lesson, data.vocabulary.size) for lesson in _looks(feed, steps)]
    except (RuntimeError, NotImplementedError):  # an objective that draws or compares needs numbers: a few rows of them
        computed = fresh(objective, data, recipe, seed).train()
        rows = max(1, min(feed.micro, FEW // feed.length))
        some = [counts(computed, lesson, data.vocabulary.size) for lesson in _looks(replace(feed, micro=rows), steps)]
        counted = [each.times(feed.micro / rows) for each in some]
    return Cost(
        parameters=sum(each.numel() for each in learner.parameters()),
        by_muon=sum(each.numel() for each in muons),
        tensors=len(adamws),
        forward=float(np.mean([each.forward for each in counted])),
        backward=float(np.mean([each.backward for each in counted])),
        optimizing=float(sum(map(orthogonalising, muons))),
        activations=max(each.kept for each in counted),
        logits=max(each.logits for each in counted),
        micros=feed.micros,
    )


@dataclass
class Counted:
    """One micro-batch."""

    vocabulary: int
    forward: int = 0
    backward: int = 0
    kept: int = 0
    logits: int = 0
    seen: set[int] = field(default_factory=set)
    alive: list[Tensor] = field(default_factory=list)  # a storage that is gone may give its place to another

    def times(self, factor: float) -> Counted:
        """So many of the same."""
        forward, backward = int(factor * self.forward), int(factor * self.backward)
        return Counted(self.vocabulary, forward, backward, int(factor * self.kept), int(factor * self.logits))

    def keep(self, tensor: Tensor) -> Tensor:
        """Count what is kept for backward, each storage once."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self.seen:
            self.seen.add(storage._cdata)
            self.alive.append(tensor)
            if tensor.shape[-1:] == (self.vocabulary,):
                self.logits += storage.nbytes()  # their gradient takes their place
            else:
                self.kept += storage.nbytes()
        return tensor


def counts(learner: Module, lesson: Lesson, vocabulary: int) -> Counted:
    """Operations and bytes of one micro-batch, forward and backward."""
    counted = Counted(vocabulary, seen={each.untyped_storage()._cdata for each in learner.parameters()})
    with FlopCounterMode(display=False) as flops, FusedAttention():
        with saved_tensors_hooks(counted.keep, lambda tensor: tensor):
            outcome = lesson.objective.outcome(learner, lesson.batch)
        counted.forward = flops.get_total_flops()
        torch.stack([loss.sum() for loss in outcome.losses.values()]).sum().backward()
        counted.backward = flops.get_total_flops() - counted.forward
    counted.alive.clear()
    learner.zero_grad(set_to_none=True)
    return counted


class FusedAttention(TorchFunctionMode):
    """Attention as fused kernels compute it, who never keep its L×L weights; on the meta device there is no such."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Take the place of scaled dot product attention."""
        if func is F.scaled_dot_product_attention:
            given = dict(zip(("query", "key", "value"), args, strict=False)) | (kwargs or {})
            return _Attention.apply(given["query"], given["key"], given["value"])
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


def orthogonalising(matrix: Tensor) -> int:
    """Operations that Muon spends on a matrix."""
    with FlopCounterMode(display=False) as flops:
        orthogonal(torch.empty(1, *matrix.shape, device="meta"))
    return flops.get_total_flops()


def _parameters(part: torch.optim.Optimizer) -> Iterable[Tensor]:
    return (each for group in part.param_groups for each in group["params"])


def _looks(feed: Feed, steps: int) -> list[Lesson]:
    """A micro-batch each from places all over the run."""
    places = sorted({round(step) for step in np.linspace(0, steps - 1, LOOKS)})
    return [feed.lessons(step, [place % feed.micros])[0] for place, step in enumerate(places)]


@dataclass(frozen=True)
class Imagined:
    """Data of which only the vocabulary's size is known: one long document that says the same token again and again."""

    size: int
    path: Path = Path("imagined data")
    sentinels: int = 0

    @property
    def vocabulary(self) -> Vocabulary:
        """As `prepare` would make it: a few special tokens, and the rest."""
        sentinels = tuple(range(self.size, self.size + self.sentinels))
        special = (0, 1, 2, 3, 4, *sentinels)
        return Vocabulary(self.size + self.sentinels, 4, 0, 2, 3, special, sentinels)

    def with_sentinels(self, count: int) -> Imagined:
        """The same with tokens that stand for hidden spans."""
        return self if self.sentinels >= count else replace(self, sentinels=count)

    def split(self, name: str) -> Imagined:
        """The text."""
        return self

    def spans(self, split: str) -> dict[str, Any]:
        """Nothing is marked."""
        return {}

    @property
    def ends(self) -> Integers:
        """One document."""
        return np.array([IMAGINED])

    def read(self, start: int, stop: int) -> tuple[Ids, Flags]:
        """Words of one token."""
        return np.full(stop - start, self.size - 1, dtype=np.int32), np.ones(stop - start, dtype=np.bool_)


def without_marks(recipe: Recipe) -> Recipe:
    """The recipe on text in which nothing is marked: where it hides marked spans, words are as good for counting."""
    settings = recipe.training
    hiding = loop.hiding_of(settings, table.parse(settings.objective))
    if hiding is None or not hiding.spanned:
        return recipe
    return replace(recipe, training=replace(settings, policy="word", phrases=None))
