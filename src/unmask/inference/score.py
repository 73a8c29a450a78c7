"""Texts to scores: how likely a model finds them, in the way that the model can say it.

    pseudo       masked language models: pseudo-log-likelihood, within words from left to right (`pseudo`)
    likelihood   models that read from left to right: the log-likelihood itself (`left_to_right`)
    bound        masked diffusion: a bound on the log-likelihood from below, an average over draws (`bound`)
    spans        T5: pseudo-log-likelihood, each word spelt out behind a sentinel (`span_scores`)

In: a loaded model and texts. Out: `Scored`, one for each text, in their order. Texts are read a few at a time, and what
is longer than the model takes in windows. A pseudo-log-likelihood is no probability of the text: it compares texts
under one model, and is not to be put beside the likelihood of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from math import log, nan, sqrt
from pathlib import Path
from typing import Literal

import numpy as np

from unmask.errors import BadInput
from unmask.inference.bound import DRAWS, bound_rows
from unmask.inference.hidden_rows import HiddenRow, answer_rows
from unmask.inference.left_to_right import causal_log_probabilities
from unmask.inference.passages import Passage, read_passages
from unmask.inference.pseudo import pseudo_rows
from unmask.inference.span_scores import span_log_probabilities
from unmask.models.load import LoadedModel
from unmask.objectives.curriculum import parse_curriculum
from unmask.records import Flags, Reals
from unmask.results import Scored, TokenSurprisal
from unmask.runs.directory import DESCRIPTION, MODEL, read_description
from unmask.tokens.windows import OnLong, Reading, Window, read_windows, windows_over, windows_to_the_right

Method = Literal["pseudo", "likelihood", "bound", "spans"]
RIGHTWARD = ("likelihood", "bound")  # read long texts from left to right
BY_OBJECTIVE: dict[str, Method] = {
    "causal": "likelihood",
    "diffusion": "bound",
}  # of a run; the others hide and restore
TEXTS = 512  # read together


@dataclass(frozen=True)
class ScoreSettings:
    """What is scored of a text, and how."""

    prefix: str = ""  # in sight before each text, and not scored
    suffix: str = ""
    stride: int | None = None  # hide every so many-th word at once, instead of one token
    tokens: bool = False  # give the surprisal of each token
    on_long: OnLong = "windows"
    draws: int = DRAWS  # of a bound
    seed: int = 0

    def check(self, method: Method) -> None:
        """Refuse what this kind of model cannot do."""
        if self.stride is not None and (self.stride < 1 or method != "pseudo"):
            reason = "give a number of words, at least 1"
            if method != "pseudo":
                reason = f"for masked language models; the method of this one is {method}"
            raise BadInput(f"--stride {self.stride}: {reason}")
        if self.suffix and method == "likelihood":
            raise BadInput("--suffix: a model that reads from left to right does not see what follows; give a --prefix")
        if self.draws < 2:
            raise BadInput(f"--draws {self.draws}: give at least 2")


@dataclass(frozen=True)
class TokenScores:
    """What became of the tokens of a passage."""

    passage: Passage
    reading: Reading
    log_probabilities: Reals  # L; nan where a token is not scored, or was cut
    error: float = 0.0  # the standard error of their sum

    @property
    def scored(self) -> Flags:
        """L, which tokens have a score."""
        return ~np.isnan(self.log_probabilities)

    @property
    def total(self) -> float:
        """Their sum, in nats."""
        return float(self.log_probabilities[self.scored].sum())


def trained_method(directory: Path) -> Method | None:
    """What the run of a model directory was trained to say of a text; none where there is no run."""
    objective = trained_objective(directory)
    return None if objective is None else BY_OBJECTIVE.get(objective, "pseudo")


def trained_objective(directory: Path) -> str | None:
    """What the run of a model directory was trained for; none where there is no run."""
    run = directory.parent
    if directory.name != MODEL or not (run / DESCRIPTION).is_file():
        return None
    settings = read_description(run).get("recipe", {}).get("settings", {})
    if "objective" not in settings:
        return None
    return parse_curriculum(str(settings["objective"])).main.name


@dataclass(frozen=True)
class Scorer:
    """A model, and how it says what a text is worth."""

    lm: LoadedModel
    method: Method

    def score(self, texts: Iterable[str], settings: ScoreSettings) -> Iterator[Scored | BadInput]:
        """Each text with its score, in their order; in the place of one that cannot be scored, what is wrong."""
        settings.check(self.method)
        return score_texts(self.lm, self.method, texts, settings)


def score_texts(
    lm: LoadedModel, method: Method, texts: Iterable[str], settings: ScoreSettings
) -> Iterator[Scored | BadInput]:
    """Each text with its score, in their order, a few texts at a time."""
    remaining = iter(texts)
    while group := list(islice(remaining, TEXTS)):
        passages = read_passages(lm, group, prefix=settings.prefix, suffix=settings.suffix)
        for scored in score_passages(lm, method, passages, settings):
            yield scored if isinstance(scored, BadInput) else summarize(lm, method, scored, settings)


def score_passages(
    lm: LoadedModel, method: Method, passages: Sequence[Passage | BadInput], settings: ScoreSettings
) -> Iterator[TokenScores | BadInput]:
    """What the model gives to the tokens of passages, in their order, as soon as it is known."""
    over = windows_to_the_right if method in RIGHTWARD else windows_over
    room = lm.length - 1 if method == "likelihood" and lm.length is not None else lm.room
    readable: list[tuple[Passage, Reading]] = []
    problems: list[BadInput | None] = []
    for passage in passages:
        problem = passage if isinstance(passage, BadInput) else None
        if isinstance(passage, Passage):
            try:
                readable.append((passage, _reading(passage, room, settings.on_long, over)))
            except BadInput as error:
                problem = error
        problems.append(problem)
    answers = _METHODS[method](lm, readable, settings)
    for problem in problems:
        yield next(answers) if problem is None else problem


def _reading(passage: Passage, room: int | None, on_long: OnLong, over: Callable[[int, int], list[Window]]) -> Reading:
    reading = read_windows(len(passage.ids), room, on_long, over)
    if reading.windows[-1].last <= passage.first:
        raise BadInput(
            f"what is read of it, {reading.tokens_read:,} tokens, ends before the text begins: shorten --prefix"
        )
    return reading


def _by_hidden_rows(
    make: Callable[..., Iterator[HiddenRow]],
    lm: LoadedModel,
    readable: Sequence[tuple[Passage, Reading]],
    *,
    bar_mask: bool = False,
) -> Iterator[TokenScores]:
    """Scores by rows that hide something; the rows of a passage come one after the other."""
    rows = (row for number, pair in enumerate(readable) for row in make(number, *pair, lm.vocabulary))
    answered = groupby(answer_rows(lm, rows, bar_mask=bar_mask), key=lambda answer: answer[0].passage)
    for number, answers in answered:  # every passage has a row: one without a token to score is refused before
        passage, reading = readable[number]
        sums, scored, draws = np.zeros(len(passage.ids)), np.zeros(len(passage.ids), dtype=np.bool_), []
        for row, values in answers:
            sums[row.places] += row.weight * values
            scored[row.places] = True
            draws.append(row.weight * float(values.sum()))
        error = sqrt(len(draws) * float(np.var(draws, ddof=1))) if len(draws) > 1 else 0.0
        yield TokenScores(passage, reading, np.where(scored, sums, nan), error)


def _pseudo(
    lm: LoadedModel, readable: Sequence[tuple[Passage, Reading]], settings: ScoreSettings
) -> Iterator[TokenScores]:
    for scores in _by_hidden_rows(partial(pseudo_rows, stride=settings.stride), lm, readable):
        yield TokenScores(scores.passage, scores.reading, scores.log_probabilities)


def _bound(
    lm: LoadedModel, readable: Sequence[tuple[Passage, Reading]], settings: ScoreSettings
) -> Iterator[TokenScores]:
    make = partial(bound_rows, draws=settings.draws, seed=settings.seed)
    yield from _by_hidden_rows(make, lm, readable, bar_mask=True)


def _likelihood(
    lm: LoadedModel, readable: Sequence[tuple[Passage, Reading]], settings: ScoreSettings
) -> Iterator[TokenScores]:
    passages, readings = [passage for passage, _ in readable], [reading for _, reading in readable]
    values = [np.full(len(passage.ids), nan) for passage in passages]
    for number, places, answers in causal_log_probabilities(lm, passages, readings):
        values[number][places] = answers
    yield from map(TokenScores, passages, readings, values)


def _spans(
    lm: LoadedModel, readable: Sequence[tuple[Passage, Reading]], settings: ScoreSettings
) -> Iterator[TokenScores]:
    values = span_log_probabilities(lm, [passage for passage, _ in readable])  # read whole: T5 takes any length
    for (passage, reading), answers in zip(readable, values, strict=True):
        yield TokenScores(passage, reading, answers)


_METHODS = {"pseudo": _pseudo, "likelihood": _likelihood, "bound": _bound, "spans": _spans}


def summarize(lm: LoadedModel, method: Method, scores: TokenScores, settings: ScoreSettings) -> Scored:
    """The score of a text, as a sum and by what it is divided."""
    passage, scored = scores.passage, scores.scored
    tokens, words = int(scored.sum()), max(1, int(passage.starts[scored].sum()))
    text = passage.text
    if scores.reading.cut:  # bytes of what was read
        text = text[: int(passage.offsets[scored][-1, 1])]
    return Scored(
        text=passage.text,
        method=method if settings.stride is None else f"{method}, stride {settings.stride}",
        score=scores.total,
        per_token=scores.total / tokens,
        per_word=scores.total / words,
        bits_per_byte=-scores.total / log(2) / max(1, len(text.encode())),
        tokens=tokens,
        words=words,
        unknown=int((passage.ids[scored] == lm.tokenizer.unk_token_id).sum()) if _has_unknown(lm) else 0,
        tokens_read=scores.reading.tokens_read,
        windows=len(scores.reading.windows),
        cut=scores.reading.cut,
        error=scores.error if method == "bound" else None,
        surprisals=surprisals(lm, scores) if settings.tokens else (),
    )


def _has_unknown(lm: LoadedModel) -> bool:
    """Whether what is not in the vocabulary becomes a token that says so: GPT-2 names one that text never becomes."""
    return lm.tokenizer.unk_token_id is not None and lm.tokenizer.unk_token_id != lm.tokenizer.eos_token_id


def surprisals(lm: LoadedModel, scores: TokenScores) -> tuple[TokenSurprisal, ...]:
    """The surprisal of each token that is scored, in bits, and where it stands in the text."""
    passage, places = scores.passage, np.flatnonzero(scores.scored).tolist()
    spelt = lm.tokenizer.convert_ids_to_tokens(passage.ids[places].tolist())
    edges = np.clip(passage.offsets[places], 0, len(passage.text)).tolist()
    bits = (-scores.log_probabilities[places] / log(2)).tolist()
    return tuple(
        TokenSurprisal(token, begin, end, value) for token, (begin, end), value in zip(spelt, edges, bits, strict=True)
    )
