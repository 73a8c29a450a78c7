"""One verb for every task: what is asked of a tuning, opened and run; adding a task is an entry of `TASKS`.

In: a task, a model, examples and settings; or a run to go on with. Out: a finished run and what it learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.tasks.answer.answerer import Answerer
from unmask.tasks.answer.learning import open_answering
from unmask.tasks.answer.questions import count_questions
from unmask.tasks.classify.classifier import Classifier
from unmask.tasks.classify.learning import open_classifying
from unmask.tasks.examples import count_examples
from unmask.tasks.few.pattern_model import PatternClassifier
from unmask.tasks.few.vector_model import VectorClassifier
from unmask.tasks.request import TuneRequest
from unmask.tasks.retrieve.open import folds_without_split, open_retrieving
from unmask.tasks.retrieve.retriever import open_retriever
from unmask.tasks.similarity.learning import open_comparing
from unmask.tasks.similarity.pair_scorer import PairScorer
from unmask.tasks.tag.learning import open_tagging
from unmask.tasks.tag.tagged import count_tagged
from unmask.tasks.tag.tagger import Tagger
from unmask.tasks.tuned_model import TunedModel, read_task
from unmask.tasks.tuning import Tuning
from unmask.training.job import FinishedRun
from unmask.training.run_job import run_job


@dataclass(frozen=True)
class Task:
    """A task: how its examples are opened for learning, and what answers when it is learnt."""

    open: Callable[[TuneRequest], tuple[Any, Any]]  # a `Tuning`, and the test examples if there are some
    model: Callable[..., TunedModel]
    count: Callable[[Path], int] = lambda _: 0  # examples of a file, where folds are known
    folds: Callable[[Path], int] = lambda _: 0  # that examples are judged by where nobody says, however many there are


TASKS = {
    "classify": Task(open_classifying, Classifier, count_examples),
    "patterns": Task(open_classifying, PatternClassifier),  # classifiers too, which learnt a few labels in other ways
    "pairs": Task(open_classifying, VectorClassifier),
    "tag": Task(open_tagging, Tagger, count_tagged),
    "answer": Task(open_answering, Answerer, count_questions),
    "similarity": Task(open_comparing, PairScorer, count_examples),
    "retrieve": Task(open_retrieving, open_retriever, folds=folds_without_split),
}


@dataclass(frozen=True)
class TunedRun:
    """A tuning that has come to its end."""

    run: FinishedRun
    learnt: Any  # the `Tuning` of its task
    test: Any  # examples that nothing was chosen on, if there are some


def tune_task(out: Path, task: str, request: TuneRequest) -> TunedRun:
    """Learn a task, or go on learning it."""
    learnt, test = TASKS[task].open(request)
    assert isinstance(learnt, Tuning)
    learnt.say_what_is_learnt()
    return run_tuning(out, learnt, test, request)


def run_tuning(out: Path, learnt: Tuning, test: Any, request: TuneRequest, *, again: str | None = None) -> TunedRun:
    """Run what is opened; `again` is the command that goes on, where it is not the run's own."""
    job = learnt.job()
    places = {**job.places, **({"test": str(request.places["test"].resolve())} if "test" in request.places else {})}
    budget = request.budget if request.budget.is_set or request.resume else learnt.budget()
    finished_run = run_job(
        replace(job, places=places),
        out,
        budget,
        resume=request.resume,
        saving=request.saving,
        reproducible=request.reproducible,
        computing=request.computing,
        workers=request.workers,
        again=again,
    )
    return TunedRun(finished_run, learnt, test)


def load_tuned(path: Path, *, device: str | None = None, precision: str = "float32") -> TunedModel:
    """A tuned model, whatever its task."""
    _, values = read_task(path)
    if values["task"] not in TASKS:
        raise BadInput(f"{path}: is tuned to {values['task']!r}, which this version does not know")
    return TASKS[values["task"]].model(path, device=device, precision=precision)
