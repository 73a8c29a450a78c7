"""One verb for every task: what is asked of a tuning, opened and run; adding a task is an entry of `TASKS`.

In: a task, a model, examples and settings; or a run to go on with. Out: a finished run and what it learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.tasks.examples import count_examples
from unmask.tasks.request import TuneRequest
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


def of(module: str, name: str) -> Callable[..., Any]:
    """A function or a class of a task, which is loaded when it is called: what other tasks need is not waited for."""

    def call(*positions: Any, **settings: Any) -> Any:
        return getattr(import_module(f"unmask.tasks.{module}"), name)(*positions, **settings)

    return call


open_classifying = of("classify.learning", "open_classifying")
TASKS = {
    "classify": Task(open_classifying, of("classify.classifier", "Classifier"), count_examples),
    # classifiers too, which learnt a few labels in other ways
    "patterns": Task(open_classifying, of("few.pattern_model", "PatternClassifier")),
    "pairs": Task(open_classifying, of("few.vector_model", "VectorClassifier")),
    "tag": Task(of("tag.learning", "open_tagging"), of("tag.tagger", "Tagger"), of("tag.tagged", "count_tagged")),
    "answer": Task(
        of("answer.learning", "open_answering"),
        of("answer.answerer", "Answerer"),
        of("answer.questions", "count_questions"),
    ),
    "similarity": Task(
        of("similarity.learning", "open_comparing"), of("similarity.pair_scorer", "PairScorer"), count_examples
    ),
    "retrieve": Task(
        of("retrieve.open", "open_retrieving"),
        of("retrieve.retriever", "open_retriever"),
        folds=of("retrieve.open", "folds_without_split"),
    ),
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
