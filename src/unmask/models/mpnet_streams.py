"""MPNet's relative positions told from outside, so that its stock layers run two streams at once (Song et al. 2020).

In: a stock MPNet and where each of its inputs stands. Out: the same model; while the block lasts, its biases are of
these places instead of 0, 1, 2, … Weights, layers and head stay transformers' own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel


@contextmanager
def standing_at(model: PreTrainedModel, places: Tensor) -> Iterator[None]:
    """While open, the inputs of a row stand at these places, B×T: what stands twice is as far from all else."""
    encoder: Any = model.base_model.encoder
    buckets = encoder.relative_position_bucket(places[:, None, :] - places[:, :, None])

    def position_bias(_states: Tensor) -> Tensor:
        bias: Tensor = encoder.relative_attention_bias(buckets)
        return bias.permute(0, 3, 1, 2).contiguous()

    encoder.compute_position_bias = position_bias
    try:
        yield
    finally:
        del encoder.compute_position_bias  # the class's own again
