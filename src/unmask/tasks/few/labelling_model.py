"""A model of transformers inside one that gives labels, where transformers has no head of that kind.

In: a model. Out: something that is trained, measured, calibrated and asked as a classifier is.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

from torch import Tensor
from transformers import PreTrainedModel


class RowLogits(NamedTuple):
    """What is said of rows."""

    logits: Tensor  # R C


class LabellingModel(PreTrainedModel):
    """The model inside keeps the attention that it was made with, and is what is exported."""

    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True

    def __init__(self, inner: PreTrainedModel, labels: int) -> None:
        config = copy.deepcopy(inner.config)
        config.num_labels = labels
        super().__init__(config)
        self.inner = inner
