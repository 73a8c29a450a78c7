"""Whether a step is like the ones before it, and whether the weights are numbers.

In: the loss and the norm of the gradient of a step, those of the last steps, the weights. Out: a judgement. What it
rests on is kept in checkpoints, so a run that was stopped judges as it would have.

A value is a spike when it is above the median of the last 50 by six times their standard deviation *and* by a share of
the median itself. Spikes are not remembered, so they do not widen the deviation. Normal noise passes six of them less
than once in a million steps; while only 20 steps are known, whose deviation is itself a guess, once in a hundred
thousand. The share (a tenth of the loss, the whole of the norm) is for runs so steady that six deviations are nothing.

A third in a row is no spike but a new level (another stage, another objective): the history begins anew there, so no
more than two steps in a row are ever left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, stdev
from typing import Any

import torch
from torch import Tensor

from unmask.errors import Diverged

REMEMBERED = 50  # steps
MIN_STEPS = 20  # of them to judge by
DEVIATIONS = 6.0
MARGINS = {"loss": 0.1, "gradient": 1.0}  # of the median
MAX_SPIKES = 2  # spikes in a row


@dataclass(frozen=True)
class Recent:
    """The last steps, as far as they tell what is usual, and how many spikes came in a row."""

    losses: tuple[float, ...] = ()
    gradients: tuple[float, ...] = ()
    spikes: int = 0

    @classmethod
    def of(cls, state: dict[str, Any]) -> Recent:
        """The memory that `dataclasses.asdict` described."""
        histories = {name: tuple(map(float, state.get(name, ()))) for name in ("losses", "gradients")}
        return cls(**histories, spikes=int(state.get("spikes", 0)))

    def spike(self, loss: float, gradient: float) -> str | None:
        """What of a step is a spike, in words; none where it is like the others or of a new level."""
        return None if self.spikes >= MAX_SPIKES else self._above(loss, gradient)

    def after(self, loss: float, gradient: float) -> Recent:
        """The memory when this step, whose numbers are finite, is done."""
        if self._above(loss, gradient) is None:
            return Recent((*self.losses, loss)[-REMEMBERED:], (*self.gradients, gradient)[-REMEMBERED:])
        if self.spikes >= MAX_SPIKES:
            return Recent((loss,), (gradient,))
        return Recent(self.losses, self.gradients, self.spikes + 1)

    def _above(self, loss: float, gradient: float) -> str | None:
        for name, value, before in (("loss", loss, self.losses), ("gradient", gradient, self.gradients)):
            if (limit := spike_limit(before, MARGINS[name])) is not None and value > limit:
                return f"{name} {value:.3g} above {limit:.3g}"
        return None


def spike_limit(before: Sequence[float], margin: float) -> float | None:
    """The largest value that is no spike; none where there is too little to tell.

    >>> [spike_limit(values, margin=0.1) for values in ([1.0] * 30, [1.0] * 3)]
    [1.1, None]
    """
    if len(before) < MIN_STEPS:
        return None
    middle = median(before)
    return middle + max(DEVIATIONS * stdev(before), margin * middle)


@torch.no_grad()
def check_weights(weights: Iterable[tuple[str, Tensor]], step: int) -> None:
    """Stop where a weight is not a finite number: no step can be taken from there, and it is not to be saved."""
    for name, tensor in weights:
        if not bool(torch.isfinite(tensor.sum())) and (bad := int((~torch.isfinite(tensor)).sum())):
            raise Diverged(
                f"step {step}: {name} has {bad:,} of {tensor.numel():,} values that are not finite; the same command "
                "with --resume goes on from the last checkpoint (where it comes again, lower the learning rate)"
            )
