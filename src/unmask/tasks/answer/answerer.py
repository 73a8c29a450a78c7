"""A tuned model that answers questions: what evaluation measures and what `predict` says are this one object.

In: a model directory that tuning wrote. Out: answers. `task.json` has the threshold above which there is none, how
long an answer may be, and the temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from transformers import AutoModelForQuestionAnswering

from unmask.errors import BadInput, Damaged
from unmask.results import Answered, Prediction
from unmask.tasks.answer.choosing import BestStretch, calibrated_probability
from unmask.tasks.answer.rows import QuestionRows, long_question, read_rows
from unmask.tasks.answer.validation import choices_of, chosen_characters
from unmask.tasks.tuned_model import Line, TaskCard, TunedModel, read_card
from unmask.tokens.tokenizer.encode import encode


@dataclass(frozen=True, kw_only=True)
class AnswerCard(TaskCard):
    """What a model that answers needs to be asked, beside its weights."""

    longest: int  # tokens of an answer
    threshold: float | None  # the odds of no answer, in nats, above which none is given; none where one always is


def read_answer_card(path: Path) -> tuple[Path, AnswerCard]:
    """The model directory of a tuned run, and its card."""
    return read_card(path, "answer", lambda values: AnswerCard(**values))


class Answerer(TunedModel):
    """A tuned model that answers questions."""

    card: AnswerCard

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_answer_card(path)
        self.load_weights(AutoModelForQuestionAnswering, device, precision)

    def choose(self, rows: QuestionRows) -> list[BestStretch]:
        """The best stretch for each question."""
        nullable, longest = self.card.threshold is not None, self.card.longest
        with self.casting():
            found = dict(choices_of(self.model, rows, nullable=nullable, longest=longest))
        if not all(isfinite(choice.best) for choice in found.values()):
            raise Damaged(f"{self.directory}: the model gives numbers that are not finite; its weights are damaged")
        return [found[place] for place in range(len(found))]

    def answer(self, questions: Sequence[str], contexts: Sequence[str]) -> list[Answered]:
        """Answer questions about contexts."""
        rows = read_rows(self.reader, questions, contexts)
        threshold, temperature = self.card.threshold, self.card.temperature or 1.0
        answers = []
        for number, choice in enumerate(self.choose(rows)):
            start, end = chosen_characters(rows, number, choice)
            given = threshold is None or choice.odds <= threshold
            answers.append(
                Answered(
                    question=questions[number],
                    answer=contexts[number][start:end] if given else None,
                    start=start if given else None,
                    end=end if given else None,
                    probability=calibrated_probability(choice.best if given else choice.none, temperature),
                    no_answer=None if threshold is None else calibrated_probability(choice.none, temperature),
                    tokens_read=rows.tokens(number),
                    windows=int(rows.rows.windows[number]),
                )
            )
        return answers

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Answered]:
        """Answer questions about contexts."""
        self.check_pairs(pairs)
        return self.answer(texts, pairs or ())

    def predict_each(self, lines: Sequence[Line]) -> list[Prediction | BadInput]:
        """An answer for each question with its context; in the place of one that is too long, what is wrong with it."""
        asked = [line[0] if isinstance(line, tuple) else "" for line in lines]
        lengths = [len(each.ids) for each in encode(self.reader.tokenizer, asked)]
        wrong = [long_question(self.reader, length) for length in lengths]
        good = [line for line, refusal in zip(lines, wrong, strict=True) if refusal is None]
        answers = iter(super().predict_each(good))
        return [refusal or next(answers) for refusal in wrong]
