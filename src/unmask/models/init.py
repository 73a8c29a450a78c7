"""What a fresh model may know beforehand: how frequent each token is.

In: a learner and the corpus's token counts. Out: the same, its output bias set to log-frequencies, so that it begins
at the unigram loss instead of spending its first steps on finding that out (at `mini`, thirty steps in: 7.14 nats on
held-out text instead of 7.41).
"""

from __future__ import annotations

import torch
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.records import Integers


@torch.no_grad()
def set_unigram_bias(learner: Module, counts: Integers | None) -> None:
    """Set the output bias of every language-model head in the learner; heads without one stay as they are."""
    if counts is None:
        return
    frequencies = torch.from_numpy(counts).double() + 1
    logs = (frequencies / frequencies.sum()).log().float()
    for model in learner.modules():
        head = model.get_output_embeddings() if isinstance(model, PreTrainedModel) else None
        bias = getattr(head, "bias", None)
        if isinstance(bias, torch.Tensor) and len(bias) >= len(logs):
            bias.fill_(logs.min())  # tokens that the corpus never had, such as sentinels
            bias[: len(logs)] = logs.to(bias.device)
