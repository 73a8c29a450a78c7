"""How a model that answers is measured while it trains and asked afterwards: the same choices, by the same function.

In: a model and questions as rows. Out: the choice for each question, and figures on what is held out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.special import logsumexp
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.objectives.answering import span_logits
from unmask.records import Integers, Reals
from unmask.results import FigureTitle
from unmask.tasks.answer.batches import question_batch
from unmask.tasks.answer.choosing import NEVER, BestStretch, best_threshold, choose_span, fit_answer_temperature
from unmask.tasks.answer.official import exact_match, word_f1
from unmask.tasks.answer.questions import QuestionExample
from unmask.tasks.answer.rows import QuestionRows
from unmask.tasks.asked_once import AskedOnce
from unmask.tokens.bucket import batches_by_length
from unmask.training.machine.distributed import ALONE, World

TOKENS, ROWS = 8_192, 64  # in a forward pass at the most, padding among them, or one question
F1 = FigureTitle("f1", "F1 of words", better="more", percent=True)
EXACT = FigureTitle("exact", "Exact match", better="more", percent=True)


@dataclass(frozen=True, eq=False)
class AnswerValidation:
    """Measures on questions that are held out."""

    rows: QuestionRows
    questions: Sequence[QuestionExample]
    nullable: bool
    longest: int
    asked: AskedOnce[Reals] = field(default_factory=AskedOnce, init=False)

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return int(self.rows.rows.work.sum())

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """F1 and exact match on everything, or on an even sample of about so many tokens."""
        assert isinstance(learner, PreTrainedModel)
        if limit is None:
            scores = self.all_scores(learner, world)
        else:
            every = max(1, self.tokens // max(1, limit))
            scores = self.scores(learner, np.arange(0, len(self.questions), every), world)
        answers = scores[:, 0] <= (threshold_for(scores) if self.nullable else np.inf)
        f1, exact = (np.where(answers, scores[:, side], scores[:, 3]).mean() for side in (1, 2))
        return {"f1": float(f1), "exact": float(exact)}

    def all_scores(self, learner: PreTrainedModel, world: World = ALONE) -> Reals:
        """N 6: those of everything."""
        return self.asked(learner, lambda: self.scores(learner, np.arange(len(self.questions)), world))

    def scores(self, learner: PreTrainedModel, numbers: Integers, world: World = ALONE) -> Reals:
        """N 6: the odds of no answer, F1 and exact match of the best stretch, what no answer scores; log p of both."""
        scores = np.zeros((len(numbers), 6))
        nullable, longest = self.nullable, self.longest
        for place, choice in choices_of(learner, self.rows, numbers, nullable=nullable, longest=longest, world=world):
            question = self.questions[int(numbers[place])]
            answers = [answer.text for answer in question.answers]
            text = chosen_text(self.rows, int(numbers[place]), choice, question.context)
            measured = word_f1(text, answers), exact_match(text, answers), not answers
            scores[place] = choice.odds, *measured, choice.best, choice.none
        if world.size > 1:
            scores = np.array(world.total(*scores.ravel().tolist())).reshape(-1, 6)
        return scores


def threshold_for(scores: Reals) -> float:
    """The odds of no answer above which none is given, best for the F1 of these scores."""
    return best_threshold(scores[:, 0], scores[:, 1], scores[:, 3])


def temperature_for(scores: Reals, threshold: float | None) -> float:
    """The temperature at which these answers, given or not as the threshold has it, are as likely right as they are."""
    given = scores[:, 0] <= (np.inf if threshold is None else threshold)
    right, said = (np.where(given, scores[:, one], scores[:, other]) for one, other in ((2, 3), (4, 5)))
    return fit_answer_temperature(said, right)


@torch.no_grad()
def choices_of(
    model: PreTrainedModel,
    rows: QuestionRows,
    numbers: Integers | None = None,
    *,
    nullable: bool,
    longest: int,
    world: World = ALONE,
) -> Iterator[tuple[int, BestStretch]]:
    """The places of some questions and what is chosen for each, of those that this process computes."""
    numbers = np.arange(len(rows.rows.tokens)) if numbers is None else numbers
    nothing = np.full((len(rows.rows.tokens), 2), -1, np.int64)
    was_training = model.training
    model.eval()
    try:
        work = rows.rows.work[numbers]
        for places, is_mine in world.padded_share(batches_by_length(work, tokens=TOKENS, rows=ROWS)):
            batch = question_batch(rows, nothing, numbers[places], nullable=nullable)
            logits = span_logits(model, batch).double().cpu().numpy()
            if not is_mine:
                continue
            for nth, place in enumerate(places.tolist()):
                here = np.flatnonzero(batch.owners == nth)
                yield place, _choice(rows, int(numbers[place]), logits[here], nullable=nullable, longest=longest)
    finally:
        model.train(was_training)


def _choice(rows: QuestionRows, number: int, logits: Reals, *, nullable: bool, longest: int) -> BestStretch:
    """The best stretch of one context, from the logits of its rows, W L 2."""
    first_row = int(np.searchsorted(rows.rows.owners, number))
    sides, nulls = [], []
    for side in (0, 1):
        tokens = np.full(rows.tokens(number), NEVER)
        for nth, row in enumerate(logits[..., side]):
            begin, count, column = (int(each[first_row + nth]) for each in (rows.begins, rows.counts, rows.columns))
            part = slice(begin, begin + count)
            tokens[part] = np.logaddexp(tokens[part], row[column : column + count])
        null = float(logits[:, 0, side].min()) if nullable else NEVER  # of the window that speaks least for it
        total = float(np.logaddexp(logsumexp(tokens), null))
        sides.append(tokens - total)
        nulls.append(null - total)
    return choose_span(sides[0], sides[1], (nulls[0], nulls[1]) if nullable else None, longest)


def chosen_text(rows: QuestionRows, number: int, choice: BestStretch, context: str) -> str:
    """The words of the best stretch."""
    start, end = chosen_characters(rows, number, choice)
    return context[start:end]


def chosen_characters(rows: QuestionRows, number: int, choice: BestStretch) -> tuple[int, int]:
    """Where the best stretch begins and ends in its context."""
    offsets = rows.offsets[number]
    return int(offsets[choice.first, 0]), int(offsets[choice.last, 1])
