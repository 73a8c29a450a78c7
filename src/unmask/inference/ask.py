"""Rows with hidden positions to what a masked language model says there.

In: a loaded model and questions: the ids of a row, some of them the mask, and the positions that are asked for. Out:
the log-probability of every token at those positions. Rows of like length are asked together, within a budget of
tokens, and the head of the model sees the asked positions alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from unmask.errors import Damaged
from unmask.models.load import LoadedModel
from unmask.models.sparse import logits_at
from unmask.progress import task
from unmask.records import Ids, Integers
from unmask.tokens.bucket import batches_by_length

TOKENS = 8_192  # in a forward pass, padding among them
TOKENS_IN_CACHE = 1_536  # of rows without padding, on a CPU, in float32: what they take in memory stays at hand
ROWS = 256  # and rows
LOGITS = 1 << 26  # and logits: a position has one for every token of the vocabulary


class Question(NamedTuple):
    """A row, and where something is asked of it."""

    ids: Ids  # L, the mask where the model is not to see what stands there
    asked: Integers  # P, positions in the row


def ask(
    lm: LoadedModel, questions: Sequence[Question], *, title: str | None = "Asking"
) -> Iterator[tuple[int, Tensor]]:
    """For each question, those of like length together: its number and the log-probabilities, P×V, on the device.

    They are over all that the model's head knows, in float32; what only rounds its matrix up is left out. Without a
    title nobody sees how far it is.
    """
    for numbers, logits in ask_logits(lm, questions, title=title):
        log_probabilities = logits.log_softmax(-1)[:, : lm.vocabulary.size]
        yield from zip(numbers, log_probabilities.split([len(questions[each].asked) for each in numbers]), strict=True)


@torch.inference_mode()
def ask_logits(
    lm: LoadedModel, questions: Sequence[Question], *, title: str | None = None
) -> Iterator[tuple[list[int], Tensor]]:
    """Questions of like length together: their numbers, and the logits at all that they ask for, P×V, in float32."""
    lengths = [len(question.ids) for question in questions]
    most = max(1, LOGITS // lm.vocabulary.size)
    with task(title, total=len(questions)) if title else nullcontext() as step:
        tokens = TOKENS if lm.rows is None else 4 * TOKENS_IN_CACHE // lm.rows.bytes_of_number
        for batch in batches_by_length(lengths, tokens=tokens, rows=ROWS):
            for part in _within(questions, batch.tolist(), most):
                yield part, _forward(lm, [questions[number] for number in part])
                if step is not None:
                    step(len(part))


def _within(questions: Sequence[Question], batch: list[int], most: int) -> Iterator[list[int]]:
    """A batch in parts that ask for at most so many positions, or for those of one row."""
    part: list[int] = []
    asked = 0
    for number in batch:
        asked += len(questions[number].asked)
        if part and asked > most:
            yield part
            part, asked = [], len(questions[number].asked)
        part.append(number)
    if part:
        yield part


def _forward(lm: LoadedModel, questions: Sequence[Question]) -> Tensor:
    """One pass: the logits, P×V."""
    logits = lm.rows.logits(*zip(*questions, strict=True)) if lm.rows else _padded_logits(lm, questions).float()
    if not logits[:, 0].isfinite().all():  # a state that is no number makes all of its logits none
        raise Damaged(f"{lm.path}: the model gives numbers that are not finite; its weights are damaged")
    return logits


def _padded_logits(lm: LoadedModel, questions: Sequence[Question]) -> Tensor:
    """P×V, by transformers' own way through the model."""
    width = max(len(question.ids) for question in questions)
    ids = np.full((len(questions), width), lm.vocabulary.pad, dtype=np.int64)
    real = np.zeros_like(ids)
    for row, question in enumerate(questions):
        ids[row, : len(question.ids)] = question.ids
        real[row, : len(question.ids)] = 1
    asked = np.concatenate([row * width + np.asarray(question.asked) for row, question in enumerate(questions)])
    inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(real)}
    device = lm.device
    with lm.casting():
        positions = torch.from_numpy(asked.astype(np.int64)).to(device)
        return logits_at(lm.model, positions, **{name: value.to(device) for name, value in inputs.items()})
