"""Gradients of embedding tables, of which a step reads some rows: those rows on their way, a whole table in the end.

In: a learner. Out: the same learner, whose tables have gradients as torch's `Embedding` gives them without this, bit
for bit. A whole gradient is as large as its table, 47 MB in MiniLM: instead of being taken from the system, filled with
zeros and given back at every step, it is kept. Only the rows that a step has read are measured, clipped and written.

A table that is a head's decoder too has a gradient everywhere, and stays as it is; so do those on GPUs.
"""

from __future__ import annotations

from collections import Counter

import torch
from torch import Tensor
from torch.nn import Embedding, Module, Parameter

SMALLEST = 2**20  # numbers in a table that it is worth while for


class Tables:
    """The large tables of a learner that nothing but look-ups reads."""

    def __init__(self, learner: Module) -> None:
        users: Counter[Tensor | None] = Counter(
            parameter for module in learner.modules() for parameter in module._parameters.values()
        )
        self.gradients: dict[Tensor, Tensor] = {}  # of each, zero but where its last step has read
        self.rows: dict[Tensor, Tensor] = {}  # that its last step has read
        self.weights: list[Tensor] = []
        for module in learner.modules():
            if isinstance(module, Embedding) and users[module.weight] == 1 and _is_worth_while(module):
                module.sparse = True
                self.weights.append(module.weight)

    def gather(self) -> None:
        """Add up what a step has for the same row: a gradient has each of its rows once, to be measured and clipped."""
        for weight in self.weights:
            if weight.grad is not None and weight.grad.is_sparse:
                weight.grad = weight.grad.coalesce()

    def settle(self) -> None:
        """Make the gradient of each table whole, for the optimizer."""
        for weight in self.weights:
            if weight.grad is not None and weight.grad.is_sparse:
                weight.grad = self._whole(weight, weight.grad)

    def _whole(self, weight: Tensor, read: Tensor) -> Tensor:
        if weight not in self.gradients:
            self.gradients[weight] = torch.zeros_like(weight)
        whole = self.gradients[weight]
        if weight in self.rows:
            whole.index_fill_(0, self.rows[weight], 0.0)
        self.rows[weight] = read._indices()[0]
        return whole.index_copy_(0, self.rows[weight], read._values())


def dense(gradient: Tensor) -> Tensor:
    """A gradient with all of its rows."""
    return gradient.to_dense() if gradient.is_sparse else gradient


def _is_worth_while(table: Embedding) -> bool:
    weight = table.weight
    plain = type(weight) is Parameter and weight.device.type == "cpu" and weight.dtype == torch.float32
    return plain and weight.requires_grad and weight.numel() >= SMALLEST and not table.scale_grad_by_freq
