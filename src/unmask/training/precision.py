"""The numbers that a step's products are computed in; weights, gradients and the optimizer's state stay float32.

In: a loss. Out: gradients of the size they have in float32. bfloat16 has the range of float32 and needs nothing else.
float16 has not: gradients below 6e-8 vanish and above 65,504 overflow, so the loss is multiplied by a scale before
backward and the gradients are divided by it after (Micikevicius et al. 2018). A step that overflows is skipped like
any step that is not finite, and the scale falls.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import Parameter

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

AUTO = "auto"  # the fastest that ends at the same loss: `training.machine.fastest` settles it

FIRST_SCALE = 2.0**15
FALL = 4.0  # fast: five skipped steps in a row stop a run
PATIENCE = 1000  # steps without an overflow after which the scale is doubled


class Precision:
    """What a run computes in, and for float16 how its loss is scaled."""

    def __init__(self, name: str = "float32", device: str = "cpu") -> None:
        self.dtype, self.device = PRECISIONS[name], device
        self.scaling = self.dtype == torch.float16
        self.scale, self.calm = (FIRST_SCALE if self.scaling else 1.0), 0

    def casting(self) -> torch.autocast:
        """While open, products are computed in this precision."""
        return torch.autocast(self.device, self.dtype, enabled=self.dtype != torch.float32)

    def scale_loss(self, loss: Tensor) -> Tensor:
        """The loss that backward starts from."""
        return loss * self.scale if self.scaling else loss

    def unscale(self, parameters: Iterable[Parameter]) -> None:
        """Bring the gradients back to their size."""
        if self.scaling:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad.div_(self.scale)

    def update(self, finite: bool) -> None:
        """Let the scale follow what a step gave."""
        if self.scaling:
            self.calm = self.calm + 1 if finite else 0
            if not finite:
                self.scale = max(1.0, self.scale / FALL)
            elif self.calm % PATIENCE == 0:
                self.scale *= 2

    @property
    def state(self) -> dict[str, float]:
        """What a checkpoint keeps of it: the scale follows from the steps before."""
        return {"scale": self.scale, "calm": self.calm} if self.scaling else {}

    def restore(self, state: dict[str, float]) -> None:
        """Take up a state that was kept."""
        if self.scaling:
            self.scale, self.calm = float(state["scale"]), int(state["calm"])


FLOAT32 = Precision()
