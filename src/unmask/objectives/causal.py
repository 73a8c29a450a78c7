"""Left to right: each token from those before it (Radford et al. 2018; Bengio et al. 2003).

Needs text as it is: nothing is hidden. Runs on models that look to the left alone (GPT-2), and on encoders, which are
given a mask that lets them do no more: so one model can learn this way first and restore hidden tokens later. Packed
documents are apart, and each begins with its opening token, from which its first is predicted.

    loss = −(1/n) Σ_i log P(x_i | x_1 … x_{i−1}),   i over the n tokens that follow another, closing ones too

Measures how many it says right, and on held-out text the bits that a byte of it costs; its closing tokens are not
counted there, so that the figure stands beside diffusion's, which is told the length. Exports the model as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import ClassVar

import numpy as np
from transformers import PreTrainedModel

from unmask.models.families.family import FAMILIES, MASKED_LMS
from unmask.models.inputs import as_inputs
from unmask.objectives.objective import Outcome
from unmask.objectives.text import Card, ModelObjective
from unmask.objectives.vocabulary import predict_tokens
from unmask.records import Batch, Flags, Reals


class Causal(ModelObjective):
    """Say what comes next."""

    name = "causal"
    also = ("clm",)
    paper = "causal language modelling, CLM; GPT, Radford et al. 2018"
    uses = ("unmask generate RUN --count 3",)
    families = frozenset({"gpt2", *(name for name in MASKED_LMS if FAMILIES[name].packs)})
    terms: ClassVar = {"causal": 1.0}
    tally_sizes: ClassVar = {"correct": 1, "nats": 1, "text": 1}
    card = Card(
        what="A language model that writes from left to right",
        pipeline="text-generation",
        example="""\
from transformers import AutoModelForCausalLM, AutoTokenizer

model, tokenizer = AutoModelForCausalLM.from_pretrained("."), AutoTokenizer.from_pretrained(".")
begun = tokenizer("The text begins", return_tensors="pt").input_ids[:, :-1]  # without the closing token
print(tokenizer.decode(model.generate(begun, max_new_tokens=20)[0]))""",
    )

    def counts(self, batch: Batch) -> dict[str, int]:
        """Every token that follows another of its document."""
        return {"causal": int(_has_next(batch).sum())}

    def outcome(self, learner: PreTrainedModel, batch: Batch) -> Outcome:
        """Cross-entropy of each next token."""
        has_next = _has_next(batch)
        positions = np.flatnonzero(has_next)
        inputs = as_inputs(learner, batch, causal=True)
        guesses = predict_tokens(learner, positions, batch.ids.reshape(-1)[positions + 1], **inputs)
        # the last but one of a document is followed by its closing token
        text = np.roll(has_next, -1, axis=1).reshape(-1)[positions]
        is_text = guesses.losses.new_tensor(text)
        tallies = {"correct": guesses.right.sum(), "nats": guesses.losses.detach() @ is_text, "text": is_text.sum()}
        return Outcome({"causal": guesses.losses.sum()}, tallies)

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many were said right, and what a token of text costs."""
        return {
            "accuracy": tallies["correct"].item() / max(1.0, counts["causal"]),
            "bits_per_token": tallies["nats"].item() / log(2) / max(1.0, tallies["text"].item()),
        }


def _has_next(batch: Batch) -> Flags:
    """B L: whether the next token is of the same document."""
    following = np.pad(batch.documents[:, 1:], ((0, 0), (0, 1)))
    has_next: Flags = (batch.documents > 0) & (batch.documents == following)
    return has_next
