"""When an adaptation has come to its end before its budget: the domain no longer gains, or too much is forgotten.

In: what each document of both texts cost at each validation, always the same documents and the same hidden tokens. Out:
why the run is to end, in words, or nothing. Differences are paired by document, so that what makes a document hard
cancels, and a difference counts only where its whole 95 % interval does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch.nn import Module

from unmask.adapting.validation import AdaptValidation, Losses
from unmask.pretraining.validation import DocumentLosses
from unmask.training.machine.distributed import World

LOOKS = 3  # validations over which the domain has to gain
LEAST_GAIN = 0.002  # nats: where even the upper end of the interval is below, it no longer gains
GROUPS = 256  # of documents at the most, by which differences are paired: checkpoints keep them


@dataclass
class WatchedValidation:
    """A validation that remembers the losses of the beginning and of the last moments, and can end the run."""

    held_out: AdaptValidation
    forget: float | None  # nats that general text may lose
    moments: list[Losses] = field(default_factory=list)  # the beginning, then the last four

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return self.held_out.tokens

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """Loss and accuracy on both texts; those of a sample, which is always the same, are remembered."""
        if limit is None:
            return self.held_out.measure(learner, limit, world)
        losses = self.held_out.losses(learner, limit, world)
        self.remember(losses)
        return losses.figures

    def remember(self, losses: Losses) -> None:
        """Another moment, by groups of documents."""
        general = None if losses.general is None else losses.general.grouped(GROUPS)
        self.moments.append(Losses(losses.domain.grouped(GROUPS), general))
        self.moments[1 : -LOOKS - 1] = []

    def why_end(self) -> str | None:
        """Why the run is to end now, in words; none where it is to go on."""
        if len(self.moments) < 2:
            return None
        return self._forgotten() or self._gained_nothing()

    def _forgotten(self) -> str | None:
        start, last = self.moments[0].general, self.moments[-1].general
        if self.forget is None or start is None or last is None:
            return None
        rise = last.above(start)
        if not rise.low > self.forget:
            return None
        lost = f"general text lost {rise.value:.3f} nats, at least {rise.low:.3f}"
        return f"{lost}: more than the {self.forget:.3g} --forget leaves"

    def _gained_nothing(self) -> str | None:
        if len(self.moments) <= LOOKS:
            return None
        gain = self.moments[-1 - LOOKS].domain.above(self.moments[-1].domain)
        if not gain.high < LEAST_GAIN:
            return None
        return f"over the last {LOOKS} validations the domain gained {gain.value:.3f} nats, at most {gain.high:.3f}"

    @property
    def state(self) -> dict[str, Any]:
        """The moments as JSON: nats by group of documents; how much is predicted in each is the same at all."""
        if not self.moments:
            return {}
        first = self.moments[0]
        texts = ("domain",) if first.general is None else ("domain", "general")
        return {
            text: {
                "predictions": getattr(first, text).predictions.tolist(),
                "nats": [getattr(moment, text).nats.tolist() for moment in self.moments],
            }
            for text in texts
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up the moments that were kept."""
        by_text = {text: _read_moments(kept) for text, kept in state.items()}
        domain = by_text.get("domain", [])
        general = by_text.get("general", [None] * len(domain))
        self.moments = [Losses(*pair) for pair in zip(domain, general, strict=True)]


def _read_moments(kept: Mapping[str, Any]) -> list[DocumentLosses | Any]:
    predictions = np.array(kept["predictions"], dtype=np.float64)
    rows = [np.array(nats, dtype=np.float64) for nats in kept["nats"]]
    if any(row.shape != predictions.shape for row in rows):
        raise ValueError("validated has rows of different lengths")
    return [DocumentLosses(row, predictions, np.zeros_like(row)) for row in rows]
