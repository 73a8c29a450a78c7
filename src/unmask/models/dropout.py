"""Dropout on CPUs, where torch draws one number after the other: here four are cut out of each that is drawn.

In: a learner. Out: the same learner, whose dropout takes less than half of the time, and keeps a byte of each number
for the backward pass. What is dropped is another draw from the same law, and a function of the state of torch's random
numbers: layers that are computed twice drop the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import Dropout, Module

PARTS = 2**16  # a dropped share is so many of them: 0.1 is 0.10001


def replace_dropout(learner: Module) -> None:
    """Let every dropout of a learner be drawn so."""
    for module in learner.modules():
        if type(module) is Dropout:
            module.__class__ = DrawnDropout


class DrawnDropout(Dropout):
    """Torch's dropout with other draws."""

    def forward(self, input: Tensor) -> Tensor:
        """What is kept is as much larger as there is less of it."""
        if not self.training or not self.p or input.device.type != "cpu":
            return super().forward(input)
        return cast(Tensor, Dropped.apply(input, Dropping.draw(self.p)))  # type: ignore[no-untyped-call]


class Dropped(Function):
    """0 where something is dropped; the rest is enlarged."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, dropping: Dropping) -> Tensor:
        """Of any shape."""
        kept = dropping.kept(states.shape)
        ctx.save_for_backward(kept)
        ctx.dropping = dropping
        return (states * dropping.factors(kept)).to(states.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The same again."""
        (kept,) = ctx.saved_tensors
        return (gradient * ctx.dropping.factors(kept)).to(gradient.dtype), None


@dataclass(frozen=True)
class Dropping:
    """What is dropped, as the number that it is drawn from."""

    seed: int
    parts: int  # of `PARTS`, that are dropped

    @classmethod
    def draw(cls, share: float) -> Dropping:
        """One of torch's random numbers."""
        return cls(int(torch.randint(2**62, ())), round(share * PARTS))

    def kept(self, shape: torch.Size) -> Tensor:
        """Where nothing is dropped."""
        drawn = np.random.SFC64(self.seed).random_raw(-(-shape.numel() // 4))
        return torch.from_numpy(drawn.view(np.uint16)[: shape.numel()] >= self.parts).view(shape)

    def factors(self, kept: Tensor) -> Tensor:
        """0 where something is dropped, else a number that keeps the mean, in float32."""
        times = np.float32(PARTS / (PARTS - self.parts) if self.parts < PARTS else 0.0)
        return torch.from_numpy(np.multiply(kept.numpy(), times, dtype=np.float32))
