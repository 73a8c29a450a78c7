"""How well a model answers test questions, beside what simpler ways come to, with intervals.

In: a tuning that is finished, and test questions. Out: `JudgedAnswers`: exact match and the F1 of words by SQuAD's own
rules, of all questions, of those with an answer and of those without, and the surest errors. The baselines:

    sliding window     the sentence of the context that shares most with the question, rare words counting more
                       (Richardson et al. 2013, which Rajpurkar et al. 2016 compare with)
    never answers      right where there is no answer

Intervals are from samples of whole paragraphs, whose questions go together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np

from unmask.evaluation.tuned.answers import write_answers
from unmask.evaluation.tuned.leaks import Leaks, leaks_of_folds, some_are_clean
from unmask.intervals import resampled_figure
from unmask.progress import task
from unmask.records import Flags, Integers, Reals
from unmask.results import Answered, AnswerError, Figure, JudgedAnswerBaseline, JudgedAnswers
from unmask.tasks.answer.answerer import Answerer
from unmask.tasks.answer.official import exact_match, normalised, word_f1
from unmask.tasks.answer.questions import QuestionExample, QuestionExamples
from unmask.tasks.classify.calibration import sureness_error
from unmask.tasks.tune import TunedRun

ERRORS = 20  # the surest of them
CHUNK = 256  # questions that are asked together
SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def judge_answerer(tuned: TunedRun, answerer: Answerer, leaks: Leaks) -> JudgedAnswers:
    """Figures on the test questions of a tuning, beside its baselines, and what leaked."""
    test: QuestionExamples = tuned.test
    answers = ask_questions(answerer, test.examples)
    scores = answer_scores([each.answer or "" for each in answers], test.examples)
    write_answers(
        tuned.run.path,
        {
            "line": list(range(1, len(test) + 1)),
            "id": [each.id for each in test.examples],
            "true": [[answer.text for answer in each.answers] for each in test.examples],
            "said": [each.answer for each in answers],
            "probability": [each.probability for each in answers],
            "score": scores[:, 1].tolist(),
            "leaked": leaks.leaked.tolist(),
            "words": [len(each.context.split()) for each in test.examples],
            "windows": [each.windows for each in answers],
        },
    )
    return judged_questions(test, answers, scores, leaks.leaked)


def judge_answer_folds(folds: Sequence[TunedRun]) -> JudgedAnswers:
    """Figures on all questions, each answered by a model that has not seen it."""
    answers: list[Answered] = []
    for tuned in folds:
        answers += ask_questions(Answerer(tuned.run.path), tuned.test.examples)
    everyone = replace(folds[0].test, examples=tuple(each for tuned in folds for each in tuned.test.examples))
    scores = answer_scores([each.answer or "" for each in answers], everyone.examples)
    leaked = np.concatenate([leaks.leaked for leaks in leaks_of_folds(folds)])
    return judged_questions(everyone, answers, scores, leaked)


def answer_headline(tuned: TunedRun, answerer: Answerer) -> float:
    """The F1 of words on test questions."""
    answers = ask_questions(answerer, tuned.test.examples)
    return float(answer_scores([each.answer or "" for each in answers], tuned.test.examples)[:, 1].mean())


def ask_questions(answerer: Answerer, questions: Sequence[QuestionExample]) -> list[Answered]:
    """What `predict` says to test questions."""
    answers: list[Answered] = []
    with task("Judging on the test questions", total=len(questions)) as step:
        for begin in range(0, len(questions), CHUNK):
            chunk = questions[begin : begin + CHUNK]
            answers += answerer.answer([each.question for each in chunk], [each.context for each in chunk])
            step(len(chunk))
    return answers


def answer_scores(said: Sequence[str], questions: Sequence[QuestionExample]) -> Reals:
    """N 2: exact match and the F1 of words of each answer."""
    gold = [[answer.text for answer in each.answers] for each in questions]
    rows = [(exact_match(text, answers), word_f1(text, answers)) for text, answers in zip(said, gold, strict=True)]
    return np.array(rows, np.float64).reshape(-1, 2)


def judged_questions(
    test: QuestionExamples, answers: Sequence[Answered], scores: Reals, leaked: Flags
) -> JudgedAnswers:
    """All figures of what was said."""
    questions = test.examples
    paragraphs = np.array([each.paragraph for each in questions])
    has_answer = np.array([bool(each.answers) for each in questions])
    everything = np.ones(len(questions), np.bool_)
    exact, f1 = _mean_figures(scores, paragraphs, everything)
    answered = _mean_figures(scores, paragraphs, has_answer)
    ways = {"sliding window": [best_sentence(each.question, each.context) for each in questions]}
    if not has_answer.all():
        ways["never answers"] = [""] * len(questions)
    return JudgedAnswers(
        data=test.path,
        examples=len(questions),
        empty=test.empty,
        repaired=test.repaired,
        leaked=int(leaked.sum()),
        clean_f1=_mean_figures(scores, paragraphs, ~leaked)[1] if some_are_clean(leaked) else None,
        f1=f1,
        exact=exact,
        answerable=int(has_answer.sum()),
        answerable_f1=answered[1],
        answerable_exact=answered[0],
        calibration_error=sureness_error(np.array([each.probability for each in answers]), scores[:, 0] > 0),
        unanswerable_right=None if has_answer.all() else _mean_figures(scores, paragraphs, ~has_answer)[0],
        baselines=tuple(_baseline(name, said, questions, paragraphs) for name, said in ways.items()),
        errors=tuple(surest_answer_errors(questions, answers, scores)),
    )


def _mean_figures(scores: Reals, paragraphs: Integers, chosen: Flags) -> tuple[Figure, Figure]:
    """The means of both scores over some questions, with intervals from samples of paragraphs."""
    counts = np.column_stack((np.ones(int(chosen.sum())), scores[chosen]))

    def mean(column: int) -> Figure:
        return resampled_figure(
            counts, paragraphs[chosen], lambda sums: sums[..., column] / np.maximum(sums[..., 0], 1)
        )

    return mean(1), mean(2)


def _baseline(
    name: str, said: Sequence[str], questions: Sequence[QuestionExample], paragraphs: Integers
) -> JudgedAnswerBaseline:
    exact, f1 = _mean_figures(answer_scores(said, questions), paragraphs, np.ones(len(questions), np.bool_))
    return JudgedAnswerBaseline(name=name, exact=exact, f1=f1)


def best_sentence(question: str, context: str) -> str:
    """The sentence of a context that shares most with a question: a word that is rare in the context counts more.

    >>> best_sentence("Where did the cat sleep?", "The dog ran. The cat did sleep in Rome. It rained.")
    'The cat did sleep in Rome.'
    """
    sentences = [each for each in SENTENCE_END.split(context) if each.strip()] or [context]
    counts = Counter(normalised(context).split())
    asked = set(normalised(question).split())
    weights = [sum(log(1 + 1 / counts[word]) for word in asked & set(normalised(each).split())) for each in sentences]
    return sentences[int(np.argmax(weights))].strip()


def surest_answer_errors(
    questions: Sequence[QuestionExample], answers: Sequence[Answered], scores: Reals
) -> list[AnswerError]:
    """The twenty questions that it was surest of without a word right: some will be errors of the file."""
    wrong = np.flatnonzero(scores[:, 1] == 0)
    sureness = np.array([each.probability for each in answers])
    return [
        AnswerError(
            id=questions[n].id,
            question=questions[n].question,
            said=answers[n].answer,
            true=tuple(dict.fromkeys(answer.text for answer in questions[n].answers)),
            probability=float(sureness[n]),
        )
        for n in wrong[np.argsort(-sureness[wrong], kind="stable")][:ERRORS].tolist()
    ]
