"""Answering questions as a job: a pretrained encoder, questions about texts, and a head that says where answers are.

In: a model directory and questions. Out: a run directory whose `model/` transformers loads; when there is no answer was
chosen on what was held out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from transformers import MODEL_FOR_QUESTION_ANSWERING_MAPPING, AutoModelForQuestionAnswering, PreTrainedConfig

from unmask.errors import BadInput
from unmask.models.locate import model_directory
from unmask.objectives.answering import Answering
from unmask.progress import say
from unmask.results import FigureTitle
from unmask.tasks.answer.answerer import AnswerCard
from unmask.tasks.answer.batches import QuestionBatches
from unmask.tasks.answer.export import export_answerer
from unmask.tasks.answer.questions import QuestionExamples, check_answerable, read_questions
from unmask.tasks.answer.rows import QuestionRows, answer_tokens, long_question, read_rows
from unmask.tasks.answer.validation import EXACT, F1, AnswerValidation
from unmask.tasks.order import ExampleOrder
from unmask.tasks.request import TuneRequest
from unmask.tasks.settings import TuneSettings
from unmask.tasks.splitting import EVERY, every_tenth, parted
from unmask.tasks.start import HeadKind, start_config
from unmask.tasks.tuning import Tuning
from unmask.tokens.tokenizer.encode import encode

QUESTION, CONTEXT = "question", "context"  # the fields of JSON lines that a model is asked with
USES = ("unmask predict RUN EXAMPLE CONTEXT",)


@dataclass(frozen=True)
class AnswerTuning(Tuning):
    """Questions and the model that learns to answer them: what the settings say, read once."""

    start: Path
    train: QuestionExamples
    dev: QuestionExamples
    settings: TuneSettings
    given_dev: bool = True  # else it is a part of the examples
    kept_together: str = "paragraphs"  # what is held out whole, where it is a part of the examples
    fold: str | None = None  # which part of the examples it leaves out to be judged by, if one of several

    task = "answer"
    head = HeadKind(AutoModelForQuestionAnswering, MODEL_FOR_QUESTION_ANSWERING_MAPPING, "model that answers")

    @property
    def same_labels(self) -> bool:
        """Begin and end are the same for all: a head that is there goes on; that of another task has another name."""
        return True

    @property
    def nullable(self) -> bool:
        """Whether a question may have no answer."""
        return self.train.unanswerable > 0

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration of the model to come."""
        config = start_config(self.start, self.head)
        config.num_labels = 2  # begin and end
        config.problem_type = None
        return config

    def rows_of(self, examples: QuestionExamples) -> QuestionRows:
        """Examples as rows; what does not fit is told by its id."""
        asked = encode(self.reader.tokenizer, [each.question for each in examples.examples])
        for each, encoded in zip(examples.examples, asked, strict=True):
            if (wrong := long_question(self.reader, len(encoded.ids))) is not None:
                raise BadInput(
                    f"{examples.path}: question {each.id!r}: {wrong}; give a longer --length, or leave it out"
                )
        rows = read_rows(
            self.reader, [each.question for each in examples.examples], [each.context for each in examples.examples]
        )
        for number, each in enumerate(examples.examples):
            if not rows.tokens(number):
                raise BadInput(f"{examples.path}: question {each.id!r}: its context has no token; leave it out")
        return rows

    @cached_property
    def batches(self) -> QuestionBatches:
        """The examples of every epoch."""
        rows = self.rows_of(self.train)
        targets = answer_tokens(rows, self.train.examples)
        order = ExampleOrder(work=rows.rows.work, batch_size=self.settings.batch_size, seed=self.settings.seed)
        return QuestionBatches(rows=rows, targets=targets, nullable=self.nullable, order=order)

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest answer that is learnt from: one may be so long, and no longer."""
        targets = self.batches.targets
        return int((targets[:, 1] - targets[:, 0]).max()) + 1

    @property
    def objective(self) -> Answering:
        """What is learnt."""
        return Answering()

    @cached_property
    def held_out(self) -> AnswerValidation:
        """What is measured on."""
        return AnswerValidation(self.rows_of(self.dev), self.dev.examples, self.nullable, self.longest)

    @property
    def figures(self) -> tuple[FigureTitle, ...]:
        """The F1 of words first."""
        return (F1, EXACT)

    @property
    def card(self) -> AnswerCard:
        """What asking the model takes, before its threshold is chosen."""
        return AnswerCard(
            task=self.task,
            text_field=QUESTION,
            pair_field=CONTEXT,
            length=self.reader.length,
            longest=self.longest,
            threshold=0.0 if self.nullable else None,
        )

    def exporter(self) -> Callable[..., None]:
        """Writes the model, with the threshold that the held-out questions choose."""
        held_out, tokenizer = self.held_out, self.reader.tokenizer
        return partial(export_answerer, card=self.card, held_out=held_out, tokenizer=tokenizer, start=self.start)

    def texts_of(self, examples: QuestionExamples) -> list[str]:
        """Each question with its context."""
        return [f"{each.question}\n{each.context}" for each in examples.examples]

    def groups_of(self, examples: QuestionExamples) -> list[Hashable]:
        """Whole articles go one way or, of fewer than ten, whole paragraphs."""
        return list(groups_of_questions(examples)[1])

    def hold_out(self, examples: QuestionExamples) -> tuple[QuestionExamples, QuestionExamples]:
        """The questions of every tenth article, or paragraph."""
        return hold_out_questions(examples)

    @property
    def recorded(self) -> dict[str, Any]:
        """Digests of the examples; the fields have fixed names."""
        return {
            "fields": {"text": QUESTION, "pair": CONTEXT, "label": None, "group": None},
            **self.digests,
            "fold": self.fold,
        }

    @property
    def facts(self) -> dict[str, str]:
        """What people are told of the run."""
        return {
            "task": "questions about texts",
            "without an answer": f"{self.train.unanswerable:,}",
            "model": f"{self.start}, {self.settings.start}",
            "data": f"{self.train.path}: {len(self.train):,} questions, {len(self.dev):,} held out",
        }

    @property
    def uses(self) -> tuple[str, ...]:
        """Of a question and a context there is no example that fits a line."""
        return USES

    @property
    def example(self) -> str:
        """A short question to try the model on."""
        return min((each.question for each in self.dev.examples), key=lambda text: abs(len(text) - 60))

    def say_what_is_learnt(self) -> None:
        """How many questions, how many without an answer, what was repaired or left out, how much is held out."""
        train, dev = self.train, self.dev
        kind = (
            f"{train.unanswerable:,} without an answer" if self.nullable else "all with an answer: one is always given"
        )
        say(f"{train.path}: {len(train):,} questions to learn from, {kind}")
        for examples in (train, dev) if self.given_dev else (train,):
            if examples.repaired:
                elsewhere = f"answers that stand elsewhere than the file says: {examples.repaired:,}"
                say(f"[yellow]{examples.path}: {elsewhere}, repaired[/]")
            if examples.empty:
                say(f"[yellow]{examples.path}: {examples.empty:,} questions without words are left out[/]")
        if not self.nullable and dev.unanswerable:
            say(f"[yellow]{dev.path}: {dev.unanswerable:,} have no answer, and train has none like them[/]")
        if not self.given_dev:
            say(f"no --dev: {len(dev):,} questions are held out, those of every tenth of the {self.kept_together}")
        if long := int((self.batches.rows.rows.windows > 1).sum()):
            say(f"contexts longer than rows of {self.reader.length:,} tokens: {long:,}, read in windows, none is cut")


def open_answering(request: TuneRequest) -> tuple[AnswerTuning, QuestionExamples | None]:
    """What a request asks to be learnt, and the test questions if there are some."""
    for name, field in request.fields.items():
        if field is not None and field not in (QUESTION, CONTEXT):
            raise BadInput(f"--{name}-field {field}: the fields of SQuAD have fixed names; leave it out")
    if request.settings.sets is not None:
        raise BadInput("--sets: sets are of the labels of texts, and answer has none; leave it out")
    train = read_questions(request.places["train"])
    check_answerable(train)
    others = {name: read_questions(request.places[name]) for name in ("dev", "test") if name in request.places}
    return answering_of(request.places["model"], request.settings, train, others.get("dev")), others.get("test")


def answering_of(
    path: Path, settings: TuneSettings, train: QuestionExamples, dev: QuestionExamples | None
) -> AnswerTuning:
    """What is to be learnt, with whole articles or, of fewer than ten, paragraphs held out where there is no dev."""
    start = model_directory(path)
    if dev is not None:
        return AnswerTuning(start, train, dev, settings)
    learnt, held_out = hold_out_questions(train)
    together, _ = groups_of_questions(train)
    return AnswerTuning(start, learnt, held_out, settings, given_dev=False, kept_together=together)


def groups_of_questions(examples: QuestionExamples) -> tuple[str, list[int]]:
    """What questions go one way with, and for each its number: whole articles or, of fewer than ten, paragraphs."""
    by_article = len({each.article for each in examples.examples}) >= EVERY
    numbers = [each.article if by_article else each.paragraph for each in examples.examples]
    return "articles" if by_article else "paragraphs", numbers


def hold_out_questions(train: QuestionExamples) -> tuple[QuestionExamples, QuestionExamples]:
    """The questions to learn from, and those of every tenth article or paragraph."""
    learnt, held_out = parted(train, every_tenth(groups_of_questions(train)[1]))
    if not all(any(each.answers for each in part.examples) for part in (learnt, held_out)):
        raise BadInput(f"{train.path}: too few paragraphs with answers to hold some out; give --dev")
    return learnt, held_out
