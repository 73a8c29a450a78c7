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
from unmask.inference.blanks import split_at_blanks
from unmask.inference.generate import LENGTH, Show, WritingSettings, check_room
from unmask.inference.samplers import TokenChoice, draw_tokens
from unmask.inference.spelling import compose, run_speller, writable_tokens, written_by
from unmask.models.writers import LoadedWriter
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
    writer: LoadedWriter, texts: Sequence[str], settings: WritingSettings, show: Show | None = None
) -> Iterator[list[Generated] | BadInput]:
    """For each text with gaps its samples, or what is wrong with it; without texts, those of the prefix or nothing."""
    _refuse_orders(settings, "from left to right")
    if not writer.sentinels:
        if texts:
            raise BadInput(
                f"{writer.path}: writes from left to right and fills no gaps; give --prefix instead of a text"
            )
        yield _write_causal(writer, settings, show)
        return
    for text in texts or (f"{settings.prefix} {BLANK}".lstrip(),):
        between = split_at_blanks(text, writer.tokenizer.mask_token or BLANK)
        try:
            yield between if isinstance(between, BadInput) else _write_spans(writer, between, settings, show)
        except BadInput as error:
            yield error


def _refuse_orders(settings: WritingSettings, how: str) -> None:
    """Orders and steps are for masked models."""
    for name in ("steps", "order", "threshold", "remask", "blocks"):
        if getattr(settings, name) not in (None, False):
            raise BadInput(f"--{name}: this model writes {how}, a token at a time; leave it out")


def _write_causal(writer: LoadedWriter, settings: WritingSettings, show: Show | None) -> list[Generated]:
    """Behind the prefix, until the model ends it or there is as much as was asked for."""
    (given,) = encode(writer.tokenizer, [settings.prefix.rstrip()])
    ids = ([] if writer.start is None else [writer.start]) + given.ids.tolist()
    if not ids:
        raise BadInput(f"{writer.path}: its tokenizer has no token that opens a text; give a --prefix")
    room = None if writer.length is None else writer.length - len(ids)
    length = settings.length or (LENGTH if room is None else min(LENGTH, max(1, room)))
    check_room(length, len(given.ids), room)
    end, first = writer.end, writable_tokens(writer.tokenizer, settings.before)
    text_or_end = writable_tokens(writer.tokenizer)
    text_or_end[end] = True

    def allow(tokens: list[int]) -> Flags:
        return text_or_end if tokens else first  # a text that ends before it begins is none

    spell = run_speller(writer.tokenizer)

    def shown(line: Line) -> str:
        return compose((settings.prefix, ""), [spell([token for token in line.tokens if token != end])])[0]

    lines = [Line(allow, settings.draws(sample)) for sample in range(settings.count)]
    _let_write(writer, ids, lines, length, settings.choice, partial(_show_lines, show, shown, lines))
    results = []
    for sample, line in enumerate(lines):
        ended = len(line.tokens) - 1 if line.tokens[-1] == end else None
        results.append(
            _line_result(writer, (settings.prefix, ""), [line.tokens[:ended]], line, ended, settings, sample)
        )
    return results


def _write_spans(
    writer: LoadedWriter, blanks: tuple[str, ...], settings: WritingSettings, show: Show | None
) -> list[Generated]:
    """A sentinel for each gap; the model spells out what they stand for, in their order."""
    between = (*(text for place, text in enumerate(blanks[:-1]) if place == 0 or text), blanks[-1])  # touching: one gap
    count = len(between) - 1
    if count > len(writer.sentinels):
        raise BadInput(f"{count} gaps, but this model has {len(writer.sentinels)} sentinels: give a text with fewer")
    sentinels = list(writer.sentinels[:count])
    ids: list[int] = [] if writer.start is None or writer.start == writer.end else [writer.start]
    parts = encode(writer.tokenizer, [text.strip() for text in between])
    for part, sentinel in zip(parts, [*sentinels, writer.end], strict=True):
        ids += [*part.ids.tolist(), sentinel]
    most = settings.length or GAP
    allow = _grammar(writer, between, sentinels, most)
    lines = [Line(allow, settings.draws(sample)) for sample in range(settings.count)]
    spell = run_speller(writer.tokenizer)

    def shown(line: Line) -> str:
        runs = [spell(run) or " ·" for run in _spans_spelt(line.tokens, sentinels, writer.end)]
        return compose(between, runs)[0]

    longest = count * (most + 1) + 1
    _let_write(writer, ids, lines, longest, settings.choice, partial(_show_lines, show, shown, lines))
    results = []
    for sample, line in enumerate(lines):
        runs = _spans_spelt(line.tokens, sentinels, writer.end)
        ended = sum(map(len, runs)) if all(len(run) < most for run in runs) else None
        results.append(_line_result(writer, between, runs, line, ended, settings, sample))
    return results


def _grammar(writer: LoadedWriter, between: Sequence[str], sentinels: list[int], most: int) -> Allow:
    """What an answer looks like: each sentinel and what it stands for, a token at least, then the end."""
    text = writable_tokens(writer.tokenizer)
    firsts = [
        writable_tokens(writer.tokenizer, before.lstrip() if n == 0 else before) for n, before in enumerate(between)
    ]
    marks = [*sentinels, writer.end]

    def allow(tokens: list[int]) -> Flags:
        place = max((n for n, token in enumerate(tokens) if token in sentinels), default=-1)
        spelt = len(tokens) - 1 - place
        gap = -1 if place < 0 else sentinels.index(tokens[place])
        mark = np.zeros_like(text)
        mark[marks[gap + 1]] = True
        if gap < 0 or spelt == most:
            return mark
        return text | mark if spelt else firsts[gap]

    return allow


def _spans_spelt(tokens: list[int], sentinels: list[int], end: int) -> list[list[int]]:
    """What an answer says of each sentinel."""
    runs: list[list[int]] = []
    for token in tokens:
        if token in sentinels:
            runs.append([])
        elif token != end:
            runs[-1].append(token)
    return runs + [[] for _ in sentinels[len(runs) :]]


def _show_lines(show: Show | None, shown: Callable[[Line], str], lines: Sequence[Line]) -> None:
    """What is written so far, where somebody looks."""
    if show:
        show([shown(line) for line in lines])


def _let_write(
    writer: LoadedWriter,
    ids: list[int],
    lines: Sequence[Line],
    most: int,
    choice: TokenChoice,
    seen: Callable[[], None],
) -> None:
    """Let transformers write the lines, some of them together."""
    config = writer.model.config
    settings = GenerationConfig(
        max_new_tokens=most,
        do_sample=False,
        use_cache=True,
        eos_token_id=writer.end,
        pad_token_id=writer.end,
        decoder_start_token_id=getattr(config, "decoder_start_token_id", None),
    )
    for begin in range(0, len(lines), ROWS):
        together = lines[begin : begin + ROWS]
        rows = torch.tensor([ids] * len(together), device=writer.model.device)
        draw = DrawNext(together, writer.end, choice, seen)
        model: Any = writer.model
        with torch.inference_mode(), writer.casting():
            model.generate(
                rows,
                attention_mask=torch.ones_like(rows),
                generation_config=settings,
                logits_processor=LogitsProcessorList([draw]),
            )


def _line_result(
    writer: LoadedWriter,
    between: tuple[str, ...],
    runs: list[list[int]],
    line: Line,
    ended: int | None,
    settings: WritingSettings,
    sample: int,
) -> Generated:
    """What was written."""
    text, places = compose(between, list(map(run_speller(writer.tokenizer), runs)))
    spelt = written_by(writer.tokenizer, line.tokens)
    kept = [n for n, token in enumerate(line.tokens) if token not in writer.sentinels]
    trace = (
        Revealed(step=n + 1, place=place, token=spelt[n], confidence=line.confidences[n])
        for place, n in enumerate(kept)
    )
    return Generated(
        text=text,
        places=places,
        tokens=written_by(writer.tokenizer, [token for run in runs for token in run]),
        ended=ended,
        steps=len(line.tokens),
        method="spans" if writer.sentinels else "causal",
        seed=settings.seed,
        sample=sample,
        trace=tuple(trace) if settings.trace else (),
    )
