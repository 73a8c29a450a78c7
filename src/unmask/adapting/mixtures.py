"""Mixtures of the weights before and after: a whole trade-off between domain and general text without a step.

In: two models of one shape, and what they are measured on. Out: eleven mixtures (1 − α) · before + α · after with both
losses, more of them where the budget of forgetting ends between two, and the one that is best in the domain without
forgetting more than may be forgotten (Wortsman et al. 2022).
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
HALVINGS = 3  # of the tenth in which the budget ends: what is kept is within an eightieth of the way

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


def measure_mixtures(
    model: Module, before: Weights, validation: AdaptValidation, forget: float | None
) -> list[Mixture]:
    """Both losses of mixtures by their shares, on an even sample the same for all; the model stays as it was."""
    total = len(SHARES) + HALVINGS
    with _weights_kept(model) as after, task("Measuring mixtures of before and after", total=total) as step:

        def measure(share: float) -> Mixture:
            put_mixture(model, before, after, share)
            figures = validation.measure(model, SAMPLE, ALONE)
            step(1)
            return Mixture(share=share, loss=figures["loss"], general_loss=figures.get("general_loss"))

        found = [measure(share) for share in SHARES]
        for _ in range(HALVINGS):
            middle = share_between(found, forget)
            if middle is None:
                break
            found = sorted([*found, measure(middle)], key=lambda mixture: mixture.share)
    return found


def share_between(mixtures: Sequence[Mixture], forget: float | None) -> float | None:
    """The share in the middle between the best mixture and the next, where the next is better but forgets too much.

    >>> some = [Mixture(share=0.0, loss=4.0, general_loss=3.0), Mixture(share=0.5, loss=3.5, general_loss=3.02)]
    >>> some.append(Mixture(share=1.0, loss=3.2, general_loss=3.3))
    >>> [share_between(some, forget) for forget in (None, 0.5, 0.05, 0.0)]
    [None, None, 0.75, 0.25]
    """
    best = mixtures.index(best_mixture(mixtures, forget))
    if best == len(mixtures) - 1 or mixtures[best + 1].loss >= mixtures[best].loss:
        return None
    return (mixtures[best].share + mixtures[best + 1].share) / 2


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
