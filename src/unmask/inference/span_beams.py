"""The likeliest answers to the gaps of texts, by beam search of a decoder.

In: texts with gaps, and what is already said of the first of them. Out: answers with their log-probabilities, the
likeliest first. The search is transformers' own; what can stand in a gap, and what closes it, is told to it here. The
probabilities of what cannot stand there are not divided among the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from unmask.inference.judge_spans import padded_rows
from unmask.inference.span_row import SpanGrammar, SpanRow, spans_spelt
from unmask.inference.targets import Choice
from unmask.models.load import LoadedModel

IMPOSSIBLE = -1e8  # nats: what transformers gives to beams that nothing was left for

Answer = tuple[tuple[int, ...], ...]  # what stands in the first gaps of a text


class JudgedGaps(NamedTuple):
    """An answer and its log-probability."""

    answer: Answer
    log_probability: float


@dataclass(frozen=True)
class GapText:
    """A text with gaps, what can stand in them, and what may."""

    text: str
    row: SpanRow
    grammar: SpanGrammar
    choices: tuple[tuple[Choice, ...], ...]  # for each gap; nothing where everything may stand there
    notes: tuple[str, ...] = ()

    def spelt(self, answer: Answer, gap: int | None = None) -> tuple[int, ...]:
        """What the decoder has said of an answer; up to the sentinel of the next gap where one is asked for."""
        tokens = [token for mark, run in zip(self.row.sentinels, answer, strict=False) for token in (mark, *run)]
        return (*tokens, *(() if gap is None else self.row.sentinels[gap : gap + 1]))


def search_gaps(
    lm: LoadedModel, gaps: Sequence[GapText], given: Sequence[Answer], *, beams: int, last: int | None = None
) -> list[list[JudgedGaps]]:
    """The likeliest answers to texts, going on from those given, which are of one length; up to a gap or to the end."""
    start = lm.model.config.decoder_start_token_id
    prefixes = [(start, *gap.spelt(answer, len(answer))) for gap, answer in zip(gaps, given, strict=True)]
    ids = torch.from_numpy(padded_rows([gap.row.ids for gap in gaps], lm.vocabulary.pad)).to(lm.device)
    real = torch.from_numpy(padded_rows([np.ones_like(gap.row.ids) for gap in gaps], 0)).to(lm.device)
    settings = GenerationConfig(
        num_beams=beams,
        num_return_sequences=beams,
        length_penalty=0.0,  # a score is a sum
        early_stopping="never",
        max_new_tokens=max(gap.grammar.longest for gap in gaps),
        do_sample=False,
        eos_token_id=lm.vocabulary.end,
        pad_token_id=lm.vocabulary.pad,
        decoder_start_token_id=start,
        return_dict_in_generate=True,
        output_scores=True,
    )
    fitting = FittingBeams([gap.grammar for gap in gaps], lm.vocabulary.end, beams, last)
    model: Any = lm.model
    with torch.inference_mode(), lm.casting():
        found = model.generate(
            ids,
            attention_mask=real,
            decoder_input_ids=torch.tensor(prefixes, device=lm.device),
            generation_config=settings,
            logits_processor=LogitsProcessorList([fitting]),
        )
    sequences, scores = found.sequences.tolist(), found.sequences_scores.tolist()
    results = []
    for place, gap in enumerate(gaps):
        rows = range(place * beams, (place + 1) * beams)
        answers = [(tuple(spans_spelt(sequences[row][1:], gap.row)), scores[row]) for row in rows]
        results.append([JudgedGaps(answer, score) for answer, score in answers if score > IMPOSSIBLE])
    return results


class FittingBeams(LogitsProcessor):
    """Leaves beams nothing but what can stand in their gap; what closes the last of them is one token, the end."""

    def __init__(self, grammars: Sequence[SpanGrammar], end: int, beams: int, last: int | None) -> None:
        self.grammars, self.end, self.beams, self.last = grammars, end, beams, last

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """B×V log-probabilities: those of tokens that cannot follow are −∞, the others stay."""
        fitting = torch.full_like(scores, -torch.inf)
        for row, tokens in enumerate(input_ids[:, 1:].tolist()):
            grammar = self.grammars[row // self.beams]
            place = grammar.place(tokens)
            flags = torch.from_numpy(grammar.letters(place)).to(scores.device)
            fitting[row, : len(flags)] = scores[row, : len(flags)].masked_fill(~flags, -torch.inf)
            if not grammar.may_end(place):
                continue
            closings = list(grammar.row.closings_of(place.gap))
            over = place.gap == (len(grammar.row.sentinels) - 1 if self.last is None else self.last)
            fitting[row, self.end if over else closings[0]] = scores[row, closings].logsumexp(-1)
        return fitting
