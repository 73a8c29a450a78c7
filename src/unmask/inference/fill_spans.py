"""Gaps to words by an encoder-decoder: the likeliest spans of a text with blanks, as the decoder spells them (T5).

In: a loaded T5 and texts with blanks. Out: `Filled`, one for each text. Every blank is a sentinel, a span of any number
of tokens; `[MASK:word]` holds one word. Candidates are found by beam search among what can stand there. Probabilities
are the model's over its whole vocabulary, of the tokens one after the other and of what closes the gap:

    p(York) = p(York | text, <0>) · (p(</s> | …, York) + p(<1> | …, York))

A decoder spells several gaps from left to right, so there is a joint distribution, which a masked model lacks. The text
is completed with its likeliest answer; the candidates of each blank stand behind what that answer says before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from typing import Unpack

from unmask.errors import BadInput
from unmask.inference.ask import TOKENS
from unmask.inference.blanks import split_at_blanks
from unmask.inference.completion import candidate_label
from unmask.inference.fill import FillRequest, FillSettings
from unmask.inference.judge_spans import AskedSpan, judge_spans
from unmask.inference.span_beams import Answer, GapText, JudgedGaps, search_gaps
from unmask.inference.span_row import SpanGrammar, make_span_row, opening
from unmask.inference.spelling import compose, speller
from unmask.inference.targets import target_choices
from unmask.models.load import LoadedModel
from unmask.progress import task
from unmask.quantities import quoted
from unmask.results import Agreement, Filled, Filling, Guess

MOST = 10  # tokens of a span
BEAMS = 8  # at the least; twice as many as candidates are asked for
ROWS = 64  # beams of several texts that are gone on with together
ONE_GAP = "blanks with nothing but spaces between them are one gap, of any number of tokens"


def fill_gaps(lm: LoadedModel, texts: Sequence[str], **settings: Unpack[FillSettings]) -> list[Filled]:
    """Fill the blanks of texts; a text that cannot be filled is refused before the model is asked."""
    request, gaps = _asked_for(settings), list[GapText]()
    for text in texts:
        gap = _read(lm, text, request)
        if isinstance(gap, BadInput):
            raise BadInput(f"{quoted(text)}: {gap}")
        gaps.append(gap)
    return _fill(lm, gaps, request)


def fill_good_gaps(lm: LoadedModel, texts: Sequence[str], **settings: Unpack[FillSettings]) -> list[Filled | BadInput]:
    """Fill the blanks of the texts that have some; in the place of another, say what is wrong with it."""
    request = _asked_for(settings)
    gaps = [_read(lm, text, request) for text in texts]
    filled = iter(_fill(lm, [gap for gap in gaps if isinstance(gap, GapText)], request))
    return [gap if isinstance(gap, BadInput) else next(filled) for gap in gaps]


def _asked_for(settings: FillSettings) -> FillRequest:
    request = FillRequest.of(settings)
    if request.explain:
        raise BadInput("--explain: asks masked language models; T5 spells out its answers, leave it out")
    return request


def _read(lm: LoadedModel, text: str, request: FillRequest) -> GapText | BadInput:
    """A text as the model takes it, or what is wrong with it."""
    blanks = split_at_blanks(lm, text)
    if isinstance(blanks, BadInput):
        return blanks
    try:
        row = make_span_row(lm, blanks)
        choices = target_choices(lm, row.between, request.targets) if request.targets else [()] * len(row.words)
    except BadInput as error:
        return error
    notes = (ONE_GAP,) if len(row.words) < len(blanks.blanks) else ()
    return GapText(text, row, SpanGrammar(lm, row, MOST, request.pieces), tuple(map(tuple, choices)), notes)


def _fill(lm: LoadedModel, gaps: Sequence[GapText], request: FillRequest) -> list[Filled]:
    """Answers to all gaps of texts together, then the candidates of each gap behind the best answer."""
    filled = []
    with task("Filling", total=len(gaps)) as step:
        for some in _together(gaps, request):
            if request.targets:
                answers = [_choose(lm, gap) for gap in some]
            else:
                answers = search_gaps(lm, some, [()] * len(some), beams=_beams(request))
            for gap, judged in zip(some, answers, strict=True):
                filled.append(_result(lm, gap, _distinct(lm, gap, judged), request))
            step(len(some))
    return filled


def _together(gaps: Sequence[GapText], request: FillRequest) -> Iterator[list[GapText]]:
    """Texts that are searched at once, in their order: as many as a pass has room for."""
    some: list[GapText] = []
    beams = _beams(request)
    for gap in gaps:
        rows = (len(some) + 1) * beams
        if some and (rows > ROWS or rows * max(len(each.row.ids) for each in (*some, gap)) > TOKENS):
            yield some
            some = []
        some.append(gap)
    if some:
        yield some


def _beams(request: FillRequest) -> int:
    return max(BEAMS, 2 * request.top)


def _choose(lm: LoadedModel, gap: GapText) -> list[JudgedGaps]:
    """Answers made of the words that may stand there, gap after gap, the best few of them gone on with."""
    kept = [JudgedGaps((), 0.0)]
    for number, choices in enumerate(gap.choices):
        longer = [(judged, choice.pieces) for judged in kept for choice in choices]
        values = _judge(lm, gap, number, [(judged.answer, pieces) for judged, pieces in longer])
        kept = [
            JudgedGaps((*judged.answer, pieces), judged.log_probability + value)
            for (judged, pieces), value in zip(longer, values, strict=True)
        ]
        kept.sort(key=lambda each: -each.log_probability)
        if number + 1 < len(gap.choices):
            kept = kept[:BEAMS]
    return kept


def _judge(lm: LoadedModel, gap: GapText, number: int, asked: Sequence[tuple[Answer, tuple[int, ...]]]) -> list[float]:
    """What is said of spans in a gap, each behind an answer to the gaps before it."""
    closings = gap.row.closings_of(number)
    spans = [AskedSpan(gap.row.ids, gap.spelt(before, number), pieces, closings) for before, pieces in asked]
    values = [0.0] * len(spans)
    for place, log_probabilities in judge_spans(lm, spans):
        values[place] = float(log_probabilities.sum())
    return values


def _result(lm: LoadedModel, gap: GapText, best: Sequence[JudgedGaps], request: FillRequest) -> Filled:
    several = len(gap.row.words) > 1
    runs = _readings(lm, gap, best[0].answer)
    completed, places = compose(gap.row.between, runs)
    blanks = [_guesses(lm, gap, best, request)]
    if several:
        blanks = [_behind(lm, gap, best[0].answer[:number], request) for number in range(len(gap.row.words))]
    fillings = tuple(
        Filling(tuple(run.strip() for run in _readings(lm, gap, each.answer)), each.log_probability, 0.0)
        for each in best[: request.top]
    )
    together = Agreement(
        blanks=tuple(range(len(gap.row.words))), method="decoder", fillings=fillings, independent=None, orders=1
    )
    tokens = len(gap.row.ids) - len(opening(lm)) - 1
    return Filled(
        gap.text,
        tuple(blanks),
        completed,
        places,
        agreements=(together,) if several else (),
        notes=gap.notes,
        tokens=tokens,
        tokens_read=tokens,
        method="spans",
    )


def _behind(lm: LoadedModel, gap: GapText, answer: Answer, request: FillRequest) -> tuple[Guess, ...]:
    """The candidates of the gap that follows an answer."""
    number = len(answer)
    if gap.choices[number]:
        asked = [(answer, choice.pieces) for choice in gap.choices[number]]
        values = _judge(lm, gap, number, asked)
        judged = [JudgedGaps((*answer, pieces), value) for (_, pieces), value in zip(asked, values, strict=True)]
    else:
        (judged,) = search_gaps(lm, [gap], [answer], beams=_beams(request), last=number)
        judged = [JudgedGaps(each.answer[: number + 1], each.log_probability) for each in judged]
    judged.sort(key=lambda each: -each.log_probability)
    return _guesses(lm, gap, _distinct(lm, gap, judged), request)


def _guesses(lm: LoadedModel, gap: GapText, judged: Sequence[JudgedGaps], request: FillRequest) -> tuple[Guess, ...]:
    """The last spans of answers as candidates; words that were asked for are all there."""
    found = []
    for each in judged if request.targets else judged[: request.top]:
        number = len(each.answer) - 1
        in_word = gap.row.between[number].rstrip()[-1:].isalnum()
        label = candidate_label(_readings(lm, gap, each.answer)[-1], in_word)
        found.append(Guess(label, exp(each.log_probability), len(each.answer[-1])))
    return tuple(found)


def _readings(lm: LoadedModel, gap: GapText, answer: Answer) -> list[str]:
    """The spans of an answer as they read in the text."""
    spell, readings = speller(lm), []
    for pieces, choices in zip(answer, gap.choices, strict=False):
        named = (choice.spelt for choice in choices if choice.pieces == pieces)
        readings.append(next(named, None) or spell(*pieces))
    return readings


def _distinct(lm: LoadedModel, gap: GapText, judged: Sequence[JudgedGaps]) -> list[JudgedGaps]:
    """Answers, the likeliest first; of those that read the same, one."""
    readings: dict[tuple[str, ...], JudgedGaps] = {}
    for each in judged:
        readings.setdefault(tuple(reading.strip() for reading in _readings(lm, gap, each.answer)), each)
    return list(readings.values())
