"""Span corruption: an encoder reads the text with gaps, a decoder spells out what was in them (T5, Raffel et al. 2020).

Needs rows in which a sentinel stands for each hidden span, and the answer: each sentinel, what it stands for, the end.
Measures how many tokens of the answer the best guess has right, given those before it, and how many spans whole.
Exports the model as it is; its tokenizer has the sentinels.

    loss = −(1/|y|) Σ_t log P(y_t | y_<t, x),   x the text with gaps, y the answer
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.models.sparse import trunk_of
from unmask.objectives.objective import Outcome, device_of
from unmask.objectives.text import Card, ModelObjective
from unmask.objectives.vocabulary import predict_tokens
from unmask.records import Answer, Batch, Integers, PolicyProperties, Reals

COLUMNS = 16  # rows and answers are filled up to a multiple of it so that shapes are few

CARD = Card(
    what="An encoder-decoder that spells out what is missing from a text",
    pipeline="text2text-generation",
    example="""\
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained("."), AutoTokenizer.from_pretrained(".")
gaps = tokenizer("The text <extra_id_0> a gap and <extra_id_1>.", return_tensors="pt")
said = model.generate(gaps.input_ids, attention_mask=gaps.attention_mask, max_new_tokens=20)
print(tokenizer.decode(said[0]))""",
)


class Seq2Seq(ModelObjective):
    """Spell out what the sentinels stand for."""

    name = "seq2seq"
    also = ("span-corruption",)
    paper = "span corruption; T5, Raffel et al. 2020"
    uses = ("unmask fill RUN EXAMPLE",)
    usual = "sentinel"
    families = frozenset({"t5"})
    terms: ClassVar = {"seq2seq": 1.0}
    tally_sizes: ClassVar = {"correct": 1, "spans": 2}
    card = CARD

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Runs for which sentinels stand."""
        return policy.needs_sentinels

    def counts(self, batch: Batch) -> dict[str, int]:
        """The tokens of the answers."""
        return {"seq2seq": int((_answer_of(batch).documents > 0).sum())}

    def outcome(self, learner: PreTrainedModel, batch: Batch) -> Outcome:
        """Cross-entropy over the answers, each token after the true ones before it."""
        answer = _answer_of(batch)
        inputs, across = as_sequences(batch, learner.config.decoder_start_token_id, device_of(learner))
        width = inputs["decoder_input_ids"].shape[1]
        rows, columns = np.nonzero(answer.documents)
        with looking_across(learner, across):
            guesses = predict_tokens(
                learner, rows * width + columns, answer.ids[rows, columns].astype(np.int64), **inputs
            )
        span_counts = torch.stack(spans_restored(answer, guesses.right))
        return Outcome({"seq2seq": guesses.losses.sum()}, {"correct": guesses.right.sum(), "spans": span_counts})

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many tokens were right, and how many spans from their first to their last."""
        correct, spans = tallies["spans"]
        return {
            "accuracy": tallies["correct"].item() / max(1.0, counts["seq2seq"]),
            "spans_restored": float(correct / max(1.0, spans)),
        }


def as_sequences(batch: Batch, start: int, device: torch.device) -> tuple[dict[str, Any], Tensor]:
    """The model's keyword arguments, and what of the text each token of the answers sees, B 1 T L.

    A document is a text of its own also where several share a row: its tokens see each other, its answer sees them
    and itself as far as it is told, and both begin anew. Biases for relative positions stay when a document moves, so
    that a packed one has the answer that it has alone.

        answer    <0> for [SEP] <0> last [SEP]
        decoder    ▢  <0>  for   ▢  <0>  last        ▢ the token that begins
    """
    answer = _answer_of(batch)
    width = int((batch.documents > 0).any(axis=0).sum())  # rows are shorter by what is hidden
    ids, documents = (_pad_rows(array[:, :width], device) for array in (batch.ids, batch.documents))
    answer_ids, owners = (_pad_rows(array.astype(np.int64), device) for array in (answer.ids, answer.documents))
    begins = F.pad(owners, (1, -1)) != owners
    columns = torch.arange(owners.shape[1], device=device)
    itself = (owners[:, :, None] == owners[:, None, :]) & (columns[:, None] >= columns)
    inputs = {
        "input_ids": ids,
        "attention_mask": (documents[:, :, None] == documents[:, None, :])[:, None],
        "decoder_input_ids": F.pad(answer_ids, (1, -1)).masked_fill(begins | (owners == 0), start),
        "decoder_attention_mask": itself[:, None],
    }
    return inputs, (owners[:, :, None] == documents[:, None, :])[:, None]


@contextmanager
def looking_across(model: PreTrainedModel, across: Tensor) -> Iterator[None]:
    """While open, the decoder sees of the text what `across` says: transformers would give it the encoder's mask."""

    def change(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, {**kwargs, "encoder_attention_mask": across}

    hook = trunk_of(model).register_forward_pre_hook(change, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def spans_restored(answer: Answer, right: Tensor) -> tuple[Tensor, Tensor]:
    """How many hidden spans have every token right, of how many; `right` is of each token of the answers in turn."""
    real = answer.documents > 0
    span = torch.from_numpy(np.cumsum(answer.opens[real]) - 1).to(right.device)
    is_spelt = torch.from_numpy(answer.spelt[real]).to(right.device)
    spans = int(answer.opens.sum())
    wrong = torch.zeros(spans, device=right.device).index_add_(0, span[is_spelt], (~right[is_spelt]).float())
    return (wrong == 0).sum(), torch.tensor(spans, device=right.device)


def _answer_of(batch: Batch) -> Answer:
    if batch.answer is None:
        raise ValueError("the policy has no answer for a decoder to give")
    return batch.answer


def _pad_rows(rows: Integers, device: torch.device) -> Tensor:
    width = max(COLUMNS, rows.shape[1] + -rows.shape[1] % COLUMNS)
    return F.pad(torch.from_numpy(rows).to(device), (0, width - rows.shape[1]))
