"""Questions with their contexts and answers, as SQuAD has them.

In: a file of SQuAD 1.1 or 2.0 (JSON, plain or .gz). Out: `QuestionExamples`. An answer must stand in its context; where
it stands elsewhere than the file says, the nearest place is taken, and counted. What cannot be used is told in one line
that names the file and the question's id.

    {"data": [{"title": …, "paragraphs": [{"context": …, "qas": [{"id": …, "question": …, "answers": [{"text": …,
    "answer_start": …}], "is_impossible": false}]}]}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from unmask.errors import BadInput
from unmask.files import sha256_of
from unmask.tasks.examples import open_examples, suffix_of

FEWEST = 10  # questions, below which nothing is learnt from them
WANTED = "questions and answers as SQuAD has them"


class GoldAnswer(NamedTuple):
    """An answer, and where it stands in its context."""

    text: str
    start: int


class QuestionExample(NamedTuple):
    """One question, and where it stands."""

    id: str
    question: str
    context: str
    answers: tuple[GoldAnswer, ...]  # none where the context does not answer it
    article: int  # which one of the file
    paragraph: int  # which one of the file: those of one context go together


@dataclass(frozen=True)
class QuestionExamples:
    """The questions of a file."""

    path: Path
    examples: tuple[QuestionExample, ...]
    repaired: int = 0  # answers that stand elsewhere than the file says
    empty: int = 0  # questions without a word, or about nothing, which were left out

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def unanswerable(self) -> int:
        """How many questions their contexts do not answer."""
        return sum(not each.answers for each in self.examples)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return sha256_of(self.path)


def read_questions(path: Path) -> QuestionExamples:
    """Read a file."""
    if suffix_of(path) != ".json" and path.is_file():
        raise BadInput(f"{path}: what is in it? give a file with {WANTED}, which ends in .json or .json.gz")
    with open_examples(path, WANTED) as file:
        try:
            content = json.load(file)
        except (ValueError, RecursionError) as error:
            if isinstance(error, UnicodeDecodeError):
                raise
            raise BadInput(f"{path}: is not JSON; give a file with {WANTED}") from error
    articles = content.get("data") if isinstance(content, dict) else None
    if not isinstance(articles, list):
        raise BadInput(f"{path}: has no list 'data'; give a file with {WANTED}")
    questions: list[QuestionExample] = []
    seen: set[str] = set()
    repaired = empty = 0
    for each, moved in _questions_of(path, articles):
        if each.id in seen:
            raise BadInput(f"{path}: the question id {each.id!r} is there twice; leave one out")
        seen.add(each.id)
        if each.question.strip() and each.context.strip():
            questions.append(each)
            repaired += moved
        else:
            empty += 1
    if not questions:
        raise BadInput(f"{path}: has no questions")
    return QuestionExamples(path, tuple(questions), repaired, empty)


def count_questions(path: Path) -> int:
    """How many questions a file has."""
    return len(read_questions(path))


def _questions_of(path: Path, articles: list[Any]) -> Iterator[tuple[QuestionExample, int]]:
    """Every question, and how many of its answers are moved to where they stand."""
    number = -1
    for article, each in enumerate(articles):
        for paragraph in _list_in(path, f"article {article + 1}", each, "paragraphs"):
            number += 1
            place = f"paragraph {number + 1}"
            for record in _list_in(path, place, paragraph, "qas"):
                context = _text_in(path, place, paragraph, "context")
                name = _text_in(path, place, record, "id")
                question = _text_in(path, f"question {name!r}", record, "question")
                answers, moved = _answers_in(path, name, record, context)
                yield QuestionExample(name, question, context, answers, article, number), moved


def _answers_in(path: Path, name: str, record: dict[str, Any], context: str) -> tuple[tuple[GoldAnswer, ...], int]:
    if record.get("is_impossible") is True:
        return (), 0
    answers = _list_in(path, f"question {name!r}", record, "answers")
    if not answers:
        raise BadInput(f"{path}: question {name!r} has no answer; give one, or say that it is_impossible")
    good, moved = [], 0
    for answer in answers:
        text = _text_in(path, f"question {name!r}", answer, "text")
        start = answer.get("answer_start")
        place = find_answer(context, text, start if isinstance(start, int) else 0)
        if place is None:
            raise BadInput(f"{path}: question {name!r}: the answer {_short(text)!r} is not in its context")
        good.append(place)
        moved += not isinstance(start, int) or context[start : start + len(text)] != text
    return tuple(good), moved


def find_answer(context: str, text: str, start: int) -> GoldAnswer | None:
    """Where an answer stands, nearest to where it should; without the spaces around it. None where it does not stand.

    >>> find_answer("a cat, a cat", " cat", 8), find_answer("a cat", "cat", 0), find_answer("a cat", "dog", 2)
    (GoldAnswer(text='cat', start=9), GoldAnswer(text='cat', start=2), None)
    """
    inside = text.strip()
    start += len(text) - len(text.lstrip())
    if not inside:
        return None
    places, place = [], context.find(inside)
    while place >= 0:
        places.append(place)
        place = context.find(inside, place + 1)
    return GoldAnswer(inside, min(places, key=lambda each: abs(each - start))) if places else None


def _list_in(path: Path, place: str, record: Any, name: str) -> list[Any]:
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise BadInput(f"{path}: {place} has no list {name!r}; give a file with {WANTED}")
    return value


def _text_in(path: Path, place: str, record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise BadInput(f"{path}: {place} has no text {name!r}; give a file with {WANTED}")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def check_answerable(train: QuestionExamples) -> None:
    """Refuse what nothing can be learnt from: a handful of questions, or none that has an answer."""
    if len(train) < FEWEST:
        count = f"{len(train):,} question{'' if len(train) == 1 else 's'}"
        raise BadInput(f"{train.path}: {count}, too few to learn from; give at least {FEWEST}")
    if train.unanswerable == len(train):
        raise BadInput(f"{train.path}: no question has an answer; give some that have")
