"""Text from a model that writes one token after the other: behind a prefix (causal), or in gaps (T5's spans).

In: a loaded writer, and what is asked for. Out: `Generated`, as masked models give it. The loop and its cache are
transformers' own; which token is taken is drawn here, with the same noise in 64 bits and by the same function as for
masked models, from the random numbers of each sample.

    causal    [CLS] The river ▸ runs ▸ on ▸ . ▸ [SEP]
    spans     [CLS] The <0> runs <1> . [SEP]   ▸ <0> ▸ river ▸ <1> ▸ on ▸ [SEP]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from unmask.errors import BadInput
from unmask.inference.blanks import BlankText, split_at_blanks
from unmask.inference.generate import LENGTH, Show, WritingSettings, check_room
from unmask.inference.samplers import TokenChoice, draw_tokens
from unmask.inference.span_row import SpanGrammar, make_span_row, spans_spelt
from unmask.inference.spelling import compose, spell_run, vocabulary_spelling, writable_tokens
from unmask.models.load import LoadedModel
from unmask.records import Flags
from unmask.results import Generated, Revealed
from unmask.tokens.example import BLANK
from unmask.tokens.tokenizer.encode import encode

GAP = 20  # tokens in a gap at the most, where nothing else is asked for
ROWS = 32  # samples that are written together

Allow = Callable[[list[int]], Flags]  # what was written to what may follow, V


@dataclass
class Line:
    """One sample while it is written."""

    allow: Allow
    rng: np.random.Generator
    tokens: list[int] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)


class DrawNext(LogitsProcessor):
    """Draws the next token of each line, and leaves transformers no other choice."""

    def __init__(self, lines: Sequence[Line], end: int, choice: TokenChoice, seen: Callable[[], None]) -> None:
        self.lines, self.end, self.choice, self.seen = lines, end, choice, seen

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """B×V: nothing but the token that was drawn."""
        only = torch.full_like(scores, -torch.inf)
        for row, line in enumerate(self.lines):
            if line.tokens[-1:] == [self.end]:
                only[row, self.end] = 0
                continue
            allowed = line.allow(line.tokens)
            log_probabilities = scores[row : row + 1, : len(allowed)].double().log_softmax(-1).cpu().numpy()
            tokens, confidences = draw_tokens(log_probabilities, allowed[None], self.choice, line.rng)
            line.tokens.append(int(tokens[0]))
            line.confidences.append(float(confidences[0]))
            only[row, line.tokens[-1]] = 0
        self.seen()
        return only


def write_in_turn(
    lm: LoadedModel, texts: Sequence[str], settings: WritingSettings, show: Show | None = None
) -> Iterator[list[Generated] | BadInput]:
    """For each text with gaps its samples, or what is wrong with it; without texts, those of the prefix or nothing."""
    _refuse_orders(settings, "from left to right")
    if not lm.vocabulary.sentinels:
        if texts:
            raise BadInput(f"{lm.path}: writes from left to right and fills no gaps; give --prefix instead of a text")
        yield _write_causal(lm, settings, show)
        return
    for text in texts or (f"{settings.prefix} {BLANK}".lstrip(),):
        blanks = split_at_blanks(lm, text)
        try:
            yield blanks if isinstance(blanks, BadInput) else _write_spans(lm, blanks, settings, show)
        except BadInput as error:
            yield error


def _refuse_orders(settings: WritingSettings, how: str) -> None:
    """Orders and steps are for masked models."""
    for name in ("steps", "order", "threshold", "remask", "blocks"):
        if getattr(settings, name) not in (None, False):
            raise BadInput(f"--{name}: this model writes {how}, a token at a time; leave it out")


def _write_causal(lm: LoadedModel, settings: WritingSettings, show: Show | None) -> list[Generated]:
    """Behind the prefix, until the model ends it or there is as much as was asked for."""
    (given,) = encode(lm.tokenizer, [settings.prefix.rstrip()])
    ids = [lm.vocabulary.start, *given.ids.tolist()]
    room = None if lm.length is None else lm.length - len(ids)
    length = settings.length or (LENGTH if room is None else min(LENGTH, max(1, room)))
    check_room(length, len(given.ids), room)
    end, first = lm.vocabulary.end, writable_tokens(lm, settings.before)
    text_or_end = writable_tokens(lm)
    text_or_end[end] = True

    def allow(tokens: list[int]) -> Flags:
        return text_or_end if tokens else first  # a text that ends before it begins is none

    def shown(line: Line) -> str:
        return compose((settings.prefix, ""), [spell_run(lm, [token for token in line.tokens if token != end])])[0]

    lines = [Line(allow, settings.draws(sample)) for sample in range(settings.count)]
    _let_write(lm, ids, lines, length, settings.choice, partial(_show_lines, show, shown, lines))
    results = []
    for sample, line in enumerate(lines):
        ended = len(line.tokens) - 1 if line.tokens[-1] == end else None
        results.append(_line_result(lm, (settings.prefix, ""), [line.tokens[:ended]], line, ended, settings, sample))
    return results


def _write_spans(lm: LoadedModel, blanks: BlankText, settings: WritingSettings, show: Show | None) -> list[Generated]:
    """A sentinel for each gap; the model spells out what they stand for, in their order."""
    row = make_span_row(lm, blanks)
    most = settings.length or GAP
    grammar = SpanGrammar(lm, row, most)
    lines = [Line(grammar, settings.draws(sample)) for sample in range(settings.count)]

    def shown(line: Line) -> str:
        return compose(row.between, [spell_run(lm, run) or " ·" for run in spans_spelt(line.tokens, row)])[0]

    ids = row.ids.tolist()
    _let_write(lm, ids, lines, grammar.longest, settings.choice, partial(_show_lines, show, shown, lines))
    results = []
    for sample, line in enumerate(lines):
        runs = spans_spelt(line.tokens, row)
        ended = sum(map(len, runs)) if all(len(run) < most for run in runs) else None
        results.append(_line_result(lm, row.between, runs, line, ended, settings, sample))
    return results


def _show_lines(show: Show | None, shown: Callable[[Line], str], lines: Sequence[Line]) -> None:
    """What is written so far, where somebody looks."""
    if show:
        show([shown(line) for line in lines])


def _let_write(
    lm: LoadedModel,
    ids: list[int],
    lines: Sequence[Line],
    most: int,
    choice: TokenChoice,
    seen: Callable[[], None],
) -> None:
    """Let transformers write the lines, some of them together."""
    config = lm.model.config
    settings = GenerationConfig(
        max_new_tokens=most,
        do_sample=False,
        use_cache=True,
        eos_token_id=lm.vocabulary.end,
        pad_token_id=lm.vocabulary.end,
        decoder_start_token_id=getattr(config, "decoder_start_token_id", None),
    )
    for begin in range(0, len(lines), ROWS):
        together = lines[begin : begin + ROWS]
        rows = torch.tensor([ids] * len(together), device=lm.model.device)
        draw = DrawNext(together, lm.vocabulary.end, choice, seen)
        model: Any = lm.model
        with torch.inference_mode(), lm.casting():
            model.generate(
                rows,
                attention_mask=torch.ones_like(rows),
                generation_config=settings,
                logits_processor=LogitsProcessorList([draw]),
            )


def _line_result(
    lm: LoadedModel,
    between: tuple[str, ...],
    runs: Sequence[Sequence[int]],
    line: Line,
    ended: int | None,
    settings: WritingSettings,
    sample: int,
) -> Generated:
    """What was written."""
    text, places = compose(between, [spell_run(lm, run) for run in runs])
    spelt = vocabulary_spelling(lm, line.tokens)
    kept = [n for n, token in enumerate(line.tokens) if token not in lm.vocabulary.sentinels]
    trace = (
        Revealed(step=n + 1, place=place, token=spelt[n], confidence=line.confidences[n])
        for place, n in enumerate(kept)
    )
    return Generated(
        text=text,
        places=places,
        tokens=vocabulary_spelling(lm, [token for run in runs for token in run]),
        ended=ended,
        steps=len(line.tokens),
        method="spans" if lm.vocabulary.sentinels else "causal",
        seed=settings.seed,
        sample=sample,
        trace=tuple(trace) if settings.trace else (),
    )
