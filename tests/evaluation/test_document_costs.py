"""Two models are compared on the same hidden tokens, document by document."""

from __future__ import annotations

import numpy as np
import pytest

from unmask.evaluation.document_costs import DocumentCosts
from unmask.evaluation.intrinsic import RestoredTokens


def test_what_hidden_tokens_cost_is_summed_by_document() -> None:
    nothing = np.zeros(4)
    restored = RestoredTokens(
        targets=nothing.astype(np.int64),
        documents=np.array([7, 2, 7, 9]),  # what nothing is hidden in has no number here
        kinds=nothing.astype(np.int8),
        bands=nothing.astype(np.int8),
        losses=np.array([1.0, 2.0, 3.0, 0.5]),
        ranks=nothing.astype(np.int64),
        confidences=nothing,
    )
    costs = DocumentCosts.of(restored)
    assert (costs.nats.tolist(), costs.tokens.tolist()) == ([2.0, 4.0, 0.5], [1.0, 2.0, 1.0])


def test_a_difference_is_taken_document_by_document() -> None:
    hard, tokens = np.array([9.0, 2.0, 5.0, 1.0]), np.full(4, 10.0)
    model, other = DocumentCosts(hard, tokens), DocumentCosts(hard + 1, tokens)
    beyond = other.beyond(model)  # a nat of ten tokens more in each document: nothing is uncertain in that
    assert (beyond.value, beyond.low, beyond.high) == pytest.approx((0.1, 0.1, 0.1))
