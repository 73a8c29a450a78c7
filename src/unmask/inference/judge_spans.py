"""How likely an encoder-decoder finds what stands in a gap: its tokens one after the other, and that nothing follows.

    log p(span) = Σ_i log p(token_i | text, what was spelt before it) + log Σ p(what closes the gap)

In: a loaded T5, and spans: what the encoder reads, what the decoder has spelt up to the sentinel of the gap, the tokens
in it. Out: the log-probabilities of the tokens, that of the end added to the last. With the end it is the probability
of this span and no longer one: "walk" does not get what belongs to "walked".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from unmask.errors import Damaged
from unmask.inference.ask import LOGITS, ROWS, TOKENS
from unmask.models.load import LoadedModel
from unmask.models.sparse import logits_at
from unmask.records import Ids, Reals
from unmask.tokens.bucket import batches_by_length


class AskedSpan(NamedTuple):
    """A gap, and what is asked whether it stands there."""

    source: Ids  # L, what the encoder reads
    before: tuple[int, ...]  # what the decoder has spelt, the sentinel of the gap being the last of it
    tokens: tuple[int, ...]
    closings: tuple[int, ...]  # any of these ends the gap


def judge_spans(lm: LoadedModel, spans: Sequence[AskedSpan]) -> Iterator[tuple[int, Reals]]:
    """For each span, those of like length together: its number and the log-probabilities of its tokens, in nats."""
    answers = [len(span.before) + len(span.tokens) for span in spans]
    sizes = [len(span.source) + answer for span, answer in zip(spans, answers, strict=True)]
    asked = max((len(span.tokens) + 1 for span in spans), default=1)
    rows = max(1, min(ROWS, LOGITS // lm.vocabulary.size // asked))
    with torch.inference_mode(), lm.casting():
        for batch in batches_by_length(sizes, tokens=TOKENS, rows=rows):
            yield from zip(batch.tolist(), _judge(lm, [spans[number] for number in batch.tolist()]), strict=True)


def _judge(lm: LoadedModel, spans: Sequence[AskedSpan]) -> list[Reals]:
    """One pass; texts that several spans share are read once."""
    states, attention = _read_sources(lm, [span.source for span in spans])
    decoded = [(lm.model.config.decoder_start_token_id, *span.before, *span.tokens) for span in spans]
    rows = torch.from_numpy(padded_rows(decoded, lm.vocabulary.pad)).to(lm.device)
    width = rows.shape[1]
    asked = [
        row * width + len(span.before) + np.arange(len(span.tokens) + 1) for row, span in enumerate(spans)
    ]  # what stands at a position says the next token: the sentinel the first, the last token the end
    logits = logits_at(
        lm.model,
        torch.from_numpy(np.concatenate(asked)).to(lm.device),
        encoder_outputs=BaseModelOutput(last_hidden_state=states),  # type: ignore[arg-type]
        attention_mask=attention,
        decoder_input_ids=rows,
        use_cache=False,
    )
    if not logits.isfinite().all():
        raise Damaged(f"{lm.path}: the model gives numbers that are not finite; its weights are damaged")
    parts = logits.float().log_softmax(-1).split([len(positions) for positions in asked])
    return [_read(part, span) for part, span in zip(parts, spans, strict=True)]


def _read(log_probabilities: Tensor, span: AskedSpan) -> Reals:
    """What the tokens of a span have, the last one with the end."""
    places = torch.arange(len(span.tokens), device=log_probabilities.device)
    values: Reals = log_probabilities[places, list(span.tokens)].double().cpu().numpy()
    values[-1] += float(log_probabilities[-1, list(span.closings)].double().logsumexp(-1))
    return values


def _read_sources(lm: LoadedModel, sources: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """The encoder's states of each text, B×L×D, and where there is text."""
    numbers: dict[bytes, int] = {}
    which = [numbers.setdefault(source.tobytes(), len(numbers)) for source in sources]
    different = [np.frombuffer(key, np.int32) for key in numbers]
    ids = torch.from_numpy(padded_rows(different, lm.vocabulary.pad)).to(lm.device)
    real = torch.from_numpy(padded_rows([np.ones(len(each), np.int64) for each in different], 0)).to(lm.device)
    states: Tensor = lm.model.get_encoder()(input_ids=ids, attention_mask=real).last_hidden_state
    index = torch.tensor(which, device=lm.device)
    return states.index_select(0, index), real.index_select(0, index)


def padded_rows(rows: Sequence[Sequence[int] | Ids], filling: int) -> np.ndarray:
    """Rows of one length, B×L."""
    filled = np.full((len(rows), max(map(len, rows))), filling, np.int64)
    for place, row in enumerate(rows):
        filled[place, : len(row)] = row
    return filled
