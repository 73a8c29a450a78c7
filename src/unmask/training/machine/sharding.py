"""Layers cut up among the processes, so that none of them holds all weights, gradients and momenta (FSDP2).

In: a learner that is the same on every process. Out: the learner with a part of each layer on each; a layer is whole
only while it computes, forwards and backwards, and its gradients come out summed, each process with its part.

Only the layers are cut (at base, 85 of 111 million weights). Embeddings and heads stay whole everywhere: objectives
share them between models and use them by themselves, outside of any module's call. Every process must call the
layers equally often, so a step has as many micro-batches for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn import Module, Parameter
from torch.nn.utils import get_total_norm

from unmask.models.layers import layers_of


def shard_layers(learner: Module, device: torch.device, size: int) -> None:
    """Leave this process its part of each layer."""
    mesh = init_device_mesh(device.type, (size,))
    for layer in layers_of(learner):
        # a layer is whole again in backward only; the loss is divided by what all processes predict, so their sum it is
        fsdp_layer = fully_shard(layer, mesh=mesh, reshard_after_forward=True)
        fsdp_layer.set_gradient_divide_factor(1.0)
        fsdp_layer.set_force_sum_reduction_for_comms(True)


def is_sharded(tensor: Tensor) -> bool:
    """Whether other processes hold the rest of it."""
    return isinstance(tensor, DTensor)


def full_tensor(tensor: Tensor) -> Tensor:
    """All of a tensor; every process has to ask for it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def shard_like(tensor: Tensor, like: Tensor) -> Tensor:
    """Of a tensor that every process has, the part that it keeps of `like`."""
    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None)


def clip_gradients(parameters: Iterable[Parameter], max_norm: float) -> float:
    """Shrink the whole gradient to a norm of at most `max_norm`; the norm that it had."""
    gradients = [_numbers(parameter.grad) for parameter in parameters if parameter.grad is not None]
    shards = [gradient for gradient in gradients if is_sharded(gradient)]
    norm = get_total_norm([gradient for gradient in gradients if not is_sharded(gradient)])
    if shards:
        norm = torch.hypot(full_tensor(get_total_norm(shards)), norm)
    total_norm = float(norm)
    if total_norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / total_norm)
    return total_norm


def _numbers(gradient: Tensor) -> Tensor:
    """All that are not 0 for being in no row that was read."""
    return gradient._values() if gradient.is_sparse else gradient
