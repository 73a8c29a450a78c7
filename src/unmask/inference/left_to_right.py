"""The likelihood of texts under a model that reads from left to right: exact, one pass for each window.

    log P(x) = Σ_i log p(x_i | x_1 … x_{i−1}),   the first token from the one that opens a text

In: a model, GPT-2 or its like, or an encoder that was trained from left to right, and passages. Out: the
log-probability of each token that is scored. What stands behind a passage cannot be seen: a suffix changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from unmask.errors import Damaged
from unmask.inference.ask import ROWS, TOKENS
from unmask.inference.passages import Passage
from unmask.models.inputs import as_inputs
from unmask.models.load import LoadedModel
from unmask.models.masked_lm import is_masked_lm
from unmask.objectives.vocabulary import predict_tokens
from unmask.progress import task
from unmask.records import Batch, Ids, Reals
from unmask.tokens.bucket import batches_by_length
from unmask.tokens.windows import Reading


def causal_log_probabilities(
    lm: LoadedModel, passages: Sequence[Passage], readings: Sequence[Reading]
) -> Iterator[tuple[int, slice, Reals]]:
    """For each window of each passage: its number, the tokens, and their log-probabilities; the shortest first."""
    parts = [
        (number, window, max(window.first, passage.first), min(window.last, passage.last))
        for number, (passage, reading) in enumerate(zip(passages, readings, strict=True))
        for window in reading.windows
    ]
    parts = [part for part in parts if part[2] < part[3]]
    lengths = [window.end - window.begin + 1 for _, window, _, _ in parts]
    encoder = is_masked_lm(lm.path)
    with task("Scoring", total=len(parts)) as step:
        for batch in batches_by_length(lengths, tokens=TOKENS, rows=ROWS):
            chosen = [parts[place] for place in batch.tolist()]
            rows = [
                np.r_[np.int32(lm.vocabulary.start), passages[number].ids[window.begin : window.end]]
                for number, window, _, _ in chosen
            ]
            spans = [(first - window.begin, last - window.begin) for _, window, first, last in chosen]
            losses = _losses(lm, rows, spans, encoder)
            for (number, _, first, last), values in zip(chosen, losses, strict=True):
                yield number, slice(first, last), -values
            step(len(chosen))


def _losses(lm: LoadedModel, rows: Sequence[Ids], spans: Sequence[tuple[int, int]], encoder: bool) -> list[Reals]:
    """Nats of the tokens that follow the positions of each span."""
    width = max(map(len, rows))
    ids, documents = np.full((len(rows), width), lm.vocabulary.pad, np.int64), np.zeros((len(rows), width), np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)], documents[place, : len(row)] = row, 1
    asked = np.concatenate([place * width + np.arange(*span) for place, span in enumerate(spans)])
    with torch.no_grad(), lm.casting():
        inputs = _inputs(lm, ids, documents, asked, encoder)
        losses = predict_tokens(lm.model, asked, ids.reshape(-1)[asked + 1], **inputs).losses.double().cpu().numpy()
    if not np.isfinite(losses).all():
        raise Damaged(f"{lm.path}: the model gives numbers that are not finite; its weights are damaged")
    return np.split(losses, np.cumsum([stop - start for start, stop in spans])[:-1])


def _inputs(lm: LoadedModel, ids: Any, documents: Any, asked: Any, encoder: bool) -> dict[str, Any]:
    """What the model takes; an encoder is given a mask that lets it look to the left alone."""
    if encoder:
        positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape).copy()
        batch = Batch(ids, positions, documents, asked, ids.reshape(-1)[asked], np.arange(len(ids)))
        return as_inputs(lm.model, batch, causal=True)
    attention = {} if documents.all() else {"attention_mask": torch.from_numpy(documents).to(lm.device)}
    return {"input_ids": torch.from_numpy(ids).to(lm.device), "use_cache": False, **attention}
