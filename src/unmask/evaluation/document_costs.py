"""What hidden tokens cost a model, document by document, so that two models can be compared on the same ones.

In: what came of each hidden token. Out: sums by document, and the difference of two models with its interval. A
document that is hard for one is hard for the other, and that cancels: the interval of a difference is much narrower
than two of their own would make it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmask.evaluation.intrinsic import RestoredTokens
from unmask.intervals import difference_figure
from unmask.records import Reals
from unmask.results import Figure


@dataclass(frozen=True)
class DocumentCosts:
    """What the hidden tokens of each held-out document cost a model."""

    nats: Reals  # D
    tokens: Reals  # D, hidden

    @classmethod
    def of(cls, restored: RestoredTokens) -> DocumentCosts:
        """The sums of each document that something is hidden in, in their order."""
        _, documents = np.unique(restored.documents, return_inverse=True)
        nats: Reals = np.bincount(documents, restored.losses)  # type: ignore[assignment]
        return cls(nats, np.bincount(documents).astype(np.float64))

    def beyond(self, other: DocumentCosts) -> Figure:
        """How many nats more a token costs than it does another model, on the same documents."""
        return difference_figure((self.nats, self.tokens), (other.nats, other.tokens))
