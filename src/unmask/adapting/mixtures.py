"""Mixtures of the weights before and after: a whole trade-off between domain and general text without a step.

In: two models of one shape, and what they are measured on. Out: eleven mixtures (1 − α) · before + α · after with both
losses, and the one that is best in the domain without forgetting more than may be forgotten (Wortsman et al. 2022).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import Module

from unmask.adapting.validation import SAMPLE, AdaptValidation
from unmask.progress import task
from unmask.results import Mixture
from unmask.training.machine.distributed import ALONE

SHARES = tuple(number / 10 for number in range(11))

Weights = dict[str, Tensor]


def weights_of(model: Module) -> Weights:
    """A copy of all weights, each once."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


@torch.no_grad()
def put_mixture(model: Module, before: Weights, after: Weights, share: float) -> None:
    """Give a model the mixture of two sets of weights; 0 is the first to the bit, and 1 the second."""
    for name, parameter in model.named_parameters():
        if share in (0.0, 1.0):
            parameter.copy_((before, after)[int(share)][name])
        else:
            parameter.copy_(torch.lerp(before[name], after[name].to(before[name].device), share))


@contextmanager
def _weights_kept(model: Module) -> Iterator[Weights]:
    kept = weights_of(model)
    try:
        yield kept
    finally:
        put_mixture(model, kept, kept, 1.0)


def measure_mixtures(model: Module, before: Weights, validation: AdaptValidation) -> list[Mixture]:
    """Both losses of eleven mixtures, on an even sample that is the same for all; the model is as it was after."""
    found = []
    with _weights_kept(model) as after, task("Measuring mixtures of before and after", total=len(SHARES)) as step:
        for share in SHARES:
            put_mixture(model, before, after, share)
            figures = validation.measure(model, SAMPLE, ALONE)
            found.append(Mixture(share=share, loss=figures["loss"], general_loss=figures.get("general_loss")))
            step(1)
    return found


def best_mixture(mixtures: Sequence[Mixture], forget: float | None) -> Mixture:
    """The lowest loss in the domain among those that forget no more than may be forgotten; the first forgets nothing.

    >>> some = [Mixture(share=0.0, loss=4.0, general_loss=3.0), Mixture(share=0.5, loss=3.5, general_loss=3.02)]
    >>> some.append(Mixture(share=1.0, loss=3.2, general_loss=3.3))
    >>> [best_mixture(some, forget).share for forget in (None, 0.5, 0.05, 0.0)]
    [1.0, 1.0, 0.5, 0.0]
    """
    start = mixtures[0].general_loss

    def is_within(mixture: Mixture) -> bool:
        if forget is None or start is None or mixture.general_loss is None:
            return True
        return mixture.general_loss - start <= forget

    return min((mixture for mixture in mixtures if is_within(mixture)), key=lambda mixture: mixture.loss)
