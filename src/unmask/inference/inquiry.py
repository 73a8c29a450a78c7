"""Searches that ask a model in rounds, many side by side, so that each round is a few large batches.

In: generators that yield what they want to ask and are sent what was said. Out: what each of them returns. A search is
written as if it were alone; those of many texts, and of many hypotheses in a text, share their rounds, and rows that
are asked for by several are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from torch import Tensor

from unmask.inference.ask import Question, ask
from unmask.models.load import LoadedModel
from unmask.progress import task

TOGETHER = 64  # searches that share rounds: what they keep in mind is bounded too


class Inquiry(NamedTuple):
    """A question, and what is to be kept of its answer, which is as wide as the vocabulary."""

    question: Question
    read: Callable[[Tensor], Any]  # of the log-probabilities, P×V


Found = TypeVar("Found")
Search = Generator[list[Inquiry], list[Any], Found]


def side_by_side(searches: Sequence[Search[Found]]) -> Search[list[Found]]:
    """Several searches as one, whose rounds are theirs put together."""
    found: dict[int, Found] = {}
    waiting: dict[int, list[Inquiry]] = {}

    def go_on(number: int, answers: list[Any] | None) -> None:
        try:
            search = searches[number]
            waiting[number] = next(search) if answers is None else search.send(answers)
        except StopIteration as over:
            waiting.pop(number, None)
            found[number] = over.value

    for number in range(len(searches)):
        go_on(number, None)
    while waiting:
        answers = iter((yield [inquiry for inquiries in waiting.values() for inquiry in inquiries]))
        for number, inquiries in list(waiting.items()):
            go_on(number, [next(answers) for _ in inquiries])
    return [found[number] for number in range(len(searches))]


def run_searches(lm: LoadedModel, searches: Sequence[Search[Found]], *, title: str = "Asking") -> list[Found]:
    """What the searches find by asking a model."""
    found: list[Found] = []
    with task(title, total=len(searches)) as step:
        for begin in range(0, len(searches), TOGETHER):
            together = searches[begin : begin + TOGETHER]
            found += _run_rounds(lm, side_by_side(together))
            step(len(together))
    return found


def _run_rounds(lm: LoadedModel, rounds: Search[list[Found]]) -> list[Found]:
    try:
        inquiries = next(rounds)
        while True:
            inquiries = rounds.send(_answers(lm, inquiries))
    except StopIteration as over:
        found: list[Found] = over.value
        return found


def _answers(lm: LoadedModel, inquiries: Sequence[Inquiry]) -> list[Any]:
    """What is kept of the answers to a round; rows that are the same are asked once."""
    askers: dict[bytes, list[int]] = {}
    for number, inquiry in enumerate(inquiries):
        askers.setdefault(np.asarray(inquiry.question.ids, np.int32).tobytes(), []).append(number)
    rows: list[Question] = []
    places: list[list[slice | list[int]]] = []  # of each asker's positions among those of its row
    for numbers in askers.values():
        if len(numbers) == 1:
            rows.append(inquiries[numbers[0]].question)
            places.append([slice(None)])
            continue
        asked = [inquiries[number].question.asked for number in numbers]
        positions, inverse = np.unique(np.concatenate(asked), return_inverse=True)
        rows.append(Question(inquiries[numbers[0]].question.ids, positions))
        edges = np.cumsum([len(each) for each in asked])[:-1]
        places.append([each.tolist() for each in np.split(inverse, edges)])
    answers: list[Any] = [None] * len(inquiries)
    groups = list(askers.values())
    for row, log_probabilities in ask(lm, rows, title=None):
        for number, place in zip(groups[row], places[row], strict=True):
            answers[number] = inquiries[number].read(log_probabilities[place])
    return answers
