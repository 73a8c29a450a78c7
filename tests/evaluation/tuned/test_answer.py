"""Figures of answers are means over questions, with and without an answer; intervals know paragraphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unmask.evaluation.tuned.answer import answer_scores, best_sentence, judged_questions, surest_answer_errors
from unmask.results import Answered
from unmask.tasks.answer.questions import GoldAnswer, QuestionExample, QuestionExamples

CONTEXT = "Anna lives in Bonn. Otto sells old books."


def question(number: int, answer: str | None, paragraph: int) -> QuestionExample:
    answers = () if answer is None else (GoldAnswer(answer, CONTEXT.index(answer)),)
    return QuestionExample(f"q{number}", "Where does Anna live?", CONTEXT, answers, 0, paragraph)


def answered(text: str | None, probability: float) -> Answered:
    return Answered(
        question="?",
        answer=text,
        start=None,
        end=None,
        probability=probability,
        no_answer=0.1,
        tokens_read=9,
        windows=1,
    )


QUESTIONS = tuple(question(n, ("Bonn", None, "old books", None)[n % 4], n // 4) for n in range(40))
SAID = [answered(("Bonn", None, "books", "Otto")[n % 4], 0.5 + n / 100) for n in range(40)]


def test_figures_are_of_all_of_those_with_an_answer_and_of_those_without() -> None:
    scores = answer_scores([each.answer or "" for each in SAID], QUESTIONS)
    leaked = np.arange(40) % 4 == 0
    judged = judged_questions(QuestionExamples(Path("x.json"), QUESTIONS), SAID, scores, leaked)
    assert (judged.exact.value, judged.f1.value) == pytest.approx((0.5, (1 + 1 + 2 / 3 + 0) / 4))
    assert (judged.answerable, judged.answerable_exact.value) == (20, 0.5)
    assert judged.answerable_f1.value == pytest.approx(5 / 6) and judged.unanswerable_right is not None
    assert judged.unanswerable_right.value == 0.5
    assert judged.leaked == 10 and judged.clean_f1 is not None
    assert judged.clean_f1.value == pytest.approx((1 + 2 / 3 + 0) / 3)
    window, never = judged.baselines
    assert (never.name, never.f1.value) == ("never answers", 0.5) and window.f1.value == pytest.approx(0.4 / 4)
    assert judged.f1.low == pytest.approx(judged.f1.value)  # every paragraph has the same four


def test_the_sliding_window_takes_the_sentence_that_shares_the_rarest_words() -> None:
    assert best_sentence("Where does Anna live?", CONTEXT) == "Anna lives in Bonn."
    assert best_sentence("Who sells the books?", CONTEXT) == "Otto sells old books."
    assert best_sentence("Why?", "one line") == "one line"


def test_the_surest_errors_have_no_word_right() -> None:
    scores = answer_scores([each.answer or "" for each in SAID], QUESTIONS)
    errors = surest_answer_errors(QUESTIONS, SAID, scores)
    assert len(errors) == 10 and errors[0].id == "q39" and errors[0].said == "Otto" and errors[0].true == ()
    assert [each.probability for each in errors] == sorted((each.probability for each in errors), reverse=True)
