"""The optimizer: Muon on the matrices of the layers, AdamW on everything else, and the learning rate over the run.

Muon (Jordan et al. 2024) replaces each matrix's momentum by the nearest orthogonal matrix, found by a Newton–Schulz
iteration, in bfloat16 as published. On a CPU that is slow unless it multiplies bfloat16: there it runs in float32, but
for runs that are in bfloat16 themselves. Matrices of one shape go through it together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product as pairs
from math import sqrt
from typing import Literal

import torch
from torch import Tensor
from torch.nn import Embedding, Module

from unmask.training.machine.sharding import full_tensor, is_sharded, shard_like
from unmask.training.tables import Tables

NEWTON_SCHULZ = (
    3.4445,
    -4.7750,
    2.0315,
)  # the quintic of the Muon authors: steep at 0, so five rounds suffice
ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class Optimizing:
    """Settings of the optimizer; a learning rate of 0 for Muon leaves every weight to AdamW."""

    muon_lr: float = 1.5e-2  # of the matrices
    momentum: float = 0.9
    adamw_lr: float = 1.5e-3  # of embeddings, norms, biases and the head
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.01
    clip: float = 1.0  # largest norm of the whole gradient
    warmup: float = 0.05  # part of the steps over which the rate rises
    full_steps: int | None = None  # at the full rate, after which it falls with the root of the step; none: it stays
    decay: float = 0.25  # part of the steps over which it falls to 0
    fall: Literal["linear", "root"] = "root"  # how it does so: evenly, or as 1 − √
    layer_decay: float = 1.0  # the rate of AdamW in a layer, as a share of that in the layer above it

    @property
    def learning_rates(self) -> dict[str, float]:
        """By optimizer, those that are in use."""
        return {"muon": self.muon_lr, "adamw": self.adamw_lr} if self.muon_lr > 0 else {"adamw": self.adamw_lr}

    def lr_factor(self, step: float, steps: int) -> float:
        """The part of the full rates at a step: they rise, stay or fall slowly, and fall to 0 when the budget ends.

        The slow fall depends on how many steps are done and not on how many there will be: a long run has small rates
        late, a short one never gets there, and a run may be continued from before its last fall (Shen et al. 2024).

        >>> stable, falling = Optimizing(decay=0.4), Optimizing(decay=0.4, full_steps=4, fall="linear")
        >>> [round(stable.lr_factor(step, 10), 2) for step in range(10)]
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.55, 0.37, 0.23, 0.11]
        >>> [round(falling.lr_factor(step, 10), 2) for step in range(10)]
        [1.0, 1.0, 1.0, 1.0, 0.89, 0.82, 0.6, 0.42, 0.27, 0.13]
        """
        rising = max(1, round(steps * self.warmup))
        rise = min(1.0, (step + 1) / rising)
        late = 1.0 if self.full_steps is None else min(1.0, sqrt(self.full_steps / (step + 1)))
        fall = self._fallen(step, steps)
        return rise * late * (1 - (sqrt(fall) if self.fall == "root" else fall))

    def is_falling(self, step: float, steps: int) -> bool:
        """Whether the rates are on their way to 0 at a step."""
        return self._fallen(step, steps) > 0

    def _fallen(self, step: float, steps: int) -> float:
        """How far they are on it: 0 before, and 1 one step behind the last."""
        falling = max(1, round(steps * self.decay))
        return max(0, step + 1 - (steps - falling)) / (falling + 1)

    def slower(self, times: float) -> Optimizing:
        """The same with both learning rates divided."""
        return replace(self, muon_lr=self.muon_lr / times, adamw_lr=self.adamw_lr / times)


def orthogonalize(matrices: Tensor, *, halves: bool = False) -> Tensor:
    """The nearest orthogonal matrix of each of N matrices, N×R×C, nearly: singular values come near 1.

    Products are in bfloat16 on a GPU, or where that is asked for, else in float32. A round multiplies X by p(X Xᵀ), a
    polynomial: where X is much wider than high, the rounds are done on the small X Xᵀ alone, which halves the work, and
    X is multiplied once by the product of them all. bfloat16 is too coarse for that.
    """
    x = matrices.bfloat16() if halves or matrices.is_cuda else matrices
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp_min(1e-7)
    small = x.dtype == torch.float32 and x.shape[-1] >= 2 * x.shape[-2]
    x = _all_rounds(x @ x.mT) @ x if small else _rounds(x)
    return (x.mT if tall else x).to(matrices.dtype)


def _rounds(x: Tensor) -> Tensor:
    a, b, c = NEWTON_SCHULZ
    for _ in range(ROUNDS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def _all_rounds(gram: Tensor) -> Tensor:
    """The product of every round's polynomial, from X Xᵀ: polynomials of one matrix commute."""
    a, b, c = NEWTON_SCHULZ
    product = None
    for last in (*[False] * (ROUNDS - 1), True):
        factor = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        factor.diagonal(dim1=-2, dim2=-1).add_(a)
        product = factor if product is None else factor @ product
        if not last:
            gram = factor @ (factor @ gram)
    assert product is not None
    return product


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised; matrices of one shape in one batch of products."""

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, momentum: float, weight_decay: float, *, halves: bool = False
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.halves = halves  # whether products are in bfloat16 on a CPU too

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Take one step along the orthogonalised Nesterov momentum."""
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape.setdefault(parameter.shape, []).append(parameter)
            for (rows, columns), parameters in by_shape.items():
                ahead = [full_tensor(momentum) for momentum in self._ahead(parameters, group["momentum"])]
                updates = orthogonalize(torch.stack(ahead), halves=self.halves)
                shards = [shard_like(update, parameter) for update, parameter in zip(updates, parameters, strict=True)]
                torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_add_(parameters, shards, alpha=-group["lr"] * sqrt(max(1.0, rows / columns)))

    def _ahead(self, parameters: list[Tensor], momentum: float) -> Sequence[Tensor]:
        """The momentum of each as it will be if the gradient stays (Nesterov)."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        for parameter in parameters:
            if "momentum" not in self.state[parameter]:
                self.state[parameter]["momentum"] = torch.zeros_like(parameter)
        velocities = [self.state[parameter]["momentum"] for parameter in parameters]
        torch._foreach_lerp_(velocities, gradients, 1 - momentum)
        return torch._foreach_lerp(gradients, velocities, momentum)


@dataclass(frozen=True)
class OptimizerPart:
    """One of the optimizers, with what it has: its weights, its learning rate, and how much it keeps of each weight."""

    name: str
    optimizer: torch.optim.Optimizer
    lr: float
    averages: int  # numbers that are kept of each weight
    counters: bool  # whether each tensor brings a counter along

    @property
    def parameters(self) -> list[Tensor]:
        """The weights that it moves."""
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]


class Optimizer:
    """Both optimizers as one: a rate for the step, a step, and a state of named tensors."""

    def __init__(self, model: Module, settings: Optimizing, products: torch.dtype = torch.float32) -> None:
        self.settings = settings
        self.tables = Tables(model)
        self.names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
        tables = {module.weight for module in model.modules() if isinstance(module, Embedding)}
        inside = [p for p in self.names if p.ndim == 2 and _is_a_matrix(self.names[p]) and p not in tables]
        matrices = inside if settings.muon_lr > 0 else []
        matrix_set = set(matrices)
        others = [p for p in self.names if p not in matrix_set]
        decay = {True: settings.weight_decay, False: 0.0}
        scales = layer_scales(self.names.values(), settings.layer_decay)
        groups = [  # one kernel takes what is whole, or what is cut up, and not both
            {
                "params": [p for p in others if (p.ndim >= 2, is_sharded(p), scales[self.names[p]]) == (*kind, scale)],
                "weight_decay": decay[kind[0]],
                "scale": scale,
            }
            for kind in pairs((True, False), (False, True))
            for scale in sorted(set(scales.values()), reverse=True)
        ]
        adamw = torch.optim.AdamW(groups, lr=settings.adamw_lr, betas=settings.betas, fused=True)
        self.parts = [OptimizerPart("adamw", adamw, settings.adamw_lr, averages=2, counters=True)]
        if matrices:
            halves = products == torch.bfloat16
            muon = Muon(matrices, settings.muon_lr, settings.momentum, settings.weight_decay, halves=halves)
            self.parts.append(OptimizerPart("muon", muon, settings.muon_lr, averages=1, counters=False))

    def step(self, step: float, steps: int) -> None:
        """One step at the rate that this step has in a run of so many."""
        factor = self.settings.lr_factor(step, steps)
        for part in self.parts:
            for group in part.optimizer.param_groups:
                group["lr"] = part.lr * factor * group.get("scale", 1.0)
            part.optimizer.step()

    def clear(self) -> None:
        """Forget the gradients."""
        for part in self.parts:
            part.optimizer.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """The whole state, a name for each tensor: `layer.weight/momentum`."""
        return {
            f"{self.names[parameter]}/{key}": full_tensor(value)
            for part in self.parts
            for parameter, state in part.optimizer.state.items()
            for key, value in state.items()
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up a state that `tensors` gave."""
        owners = {name: parameter for parameter, name in self.names.items()}
        home = {parameter: part.optimizer for part in self.parts for parameter in part.parameters}
        for key, value in tensors.items():
            name, _, kind = key.rpartition("/")
            owner = owners[name]
            if value.ndim and value.shape != owner.shape:
                raise ValueError(f"{key} is {tuple(value.shape)}, not {tuple(owner.shape)}")
            value = value.to(owner.device)
            home[owner].state[owner][kind] = shard_like(value, owner) if value.ndim else value


def layer_scales(names: Iterable[str], decay: float) -> dict[str, float]:
    """The share of the learning rate for each weight: 1 in the head and the uppermost layer, less in each one below.

    Weights outside the numbered layers are the head's, but for those of the embeddings, which are below all layers.

    >>> names = ["bert.embeddings.w", "bert.layer.0.w", "bert.layer.1.w", "head.w"]
    >>> layer_scales(names, 0.5)
    {'bert.embeddings.w': 0.25, 'bert.layer.0.w': 0.5, 'bert.layer.1.w': 1.0, 'head.w': 1.0}
    """
    names = list(names)
    depths = {name: next((int(word) for word in name.split(".") if word.isdecimal()), None) for name in names}
    layers = max((depth for depth in depths.values() if depth is not None), default=-1) + 1
    below = {name: layers if depth is None and "embed" in name else 0 for name, depth in depths.items()}
    return {name: decay ** (below[name] if (depth := depths[name]) is None else layers - 1 - depth) for name in names}


def _is_a_matrix(name: str) -> bool:
    """Whether a weight multiplies in one of the numbered layers: `encoder.layer.0.…`; XLNet's biases have two axes."""
    return any(word.isdecimal() for word in name.split(".")) and not name.endswith("bias")
