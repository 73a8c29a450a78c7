"""What a GPU is told to do in a step, operation by operation: steps too small to fill it take as long as the telling.

In: work on torch's meta device, or real work. Out: how many kernels a GPU would be given for it. A kernel that computes
next to nothing takes the time it takes to launch it, so these times are a floor below which no step comes.

Operations are counted as torch runs them one by one; views, and memory that is only taken, launch nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from unmask.training.optimizer import Muon, Optimizer

WITHOUT_KERNEL = frozenset({"aten::_unsafe_view", "aten::_local_scalar_dense", "aten::squeeze_", "aten::unsqueeze_"})
CASTS = 4  # a product in half precision: its weight and its input, and the gradients of both on the way back
CLIPPING = 5  # norms of all gradients, their norm, and what they are multiplied by
A_LAUNCH = 8e-6  # seconds: Python, autograd, torch's dispatcher and the driver take 5 to 25 µs for an operation
A_STEP = 1e-3  # seconds: the batch is brought, figures are waited for and logged


class LaunchCounter(TorchDispatchMode):
    """While open, counts the kernels that a GPU would be given."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.launches = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count an operation, and let it happen."""
        name = func._schema.name
        if not func.is_view and name not in WITHOUT_KERNEL and not name.startswith(("aten::empty", "aten::new_empty")):
            self.launches += 1
        return func(*args, **(kwargs or {}))


def optimizer_launches(optimizer: Optimizer) -> int:
    """The kernels of an optimizer's step, and of clipping before it; its weights are on the meta device.

    AdamW is fused and takes one for each group of weights; Muon's products are counted as they happen.
    """
    launches = CLIPPING
    for part in optimizer.parts:
        if not isinstance(part.optimizer, Muon):
            launches += sum(bool(group["params"]) for group in part.optimizer.param_groups)
            continue
        for matrix in part.parameters:
            matrix.grad = torch.empty_like(matrix)
        with LaunchCounter() as counter:
            part.optimizer.step()
        launches += counter.launches
        part.optimizer.zero_grad(set_to_none=True)
    return launches
