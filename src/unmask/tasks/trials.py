"""Several runs for one model: a few learning rates, several seeds, and folds where examples are few.

In: a request with what is to be tried. Out: a run for each trial in `trials/`, and the winner's as the run itself:

    lr-0.0001, lr-0.0003 …   one seed each; the rate whose run does best on dev is taken
    seed-1, seed-2 …         the same with other seeds: how far a figure depends on them; the best on dev is taken
    fold-1 … fold-5          each fifth of the examples judged by a model that has not seen it

Every trial is a run like any other. `trials.json` keeps what is tried; what is finished is not done again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Refused
from unmask.files import with_seal, write_json
from unmask.progress import say
from unmask.runs.claim import LongWork, claim_directory, read_sealed, refuse_differences
from unmask.runs.directory import DESCRIPTION
from unmask.tasks.request import TuneRequest, new_request
from unmask.tasks.settings import TuneSettings
from unmask.tasks.tune import TASKS, TunedRun, run_tuning
from unmask.tasks.tuning import Tuning
from unmask.training.machine.distributed import launched

PLAN = LongWork("tuning of several trials", "trials.json", ".trying")
TRIALS = "trials"
FOLDS, FEW = 5, 500  # folds, where there are fewer examples than this and none to judge by
FLAGS = {"lrs": "--lr", "seeds": "--seeds", "folds": "--folds"}


@dataclass(frozen=True, kw_only=True)
class TrialPlan:
    """What is tried."""

    task: str
    lrs: tuple[float, ...] = ()  # where there is a choice
    seeds: int = 1
    folds: int = 0

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise BadInput(f"--seeds {self.seeds}: give 1 or more")
        if self.folds == 1 or self.folds < 0:
            raise BadInput(f"--folds {self.folds}: give 2 or more, or 0 for none")

    @property
    def is_one_run(self) -> bool:
        """Whether nothing is tried."""
        return len(self.lrs) < 2 and self.seeds == 1 and not self.folds


@dataclass(frozen=True)
class Trial:
    """One run among several."""

    name: str
    tuned: TunedRun

    @property
    def lr(self) -> float:
        """Its learning rate."""
        return float(self.tuned.learnt.lr)

    @property
    def seed(self) -> int:
        """Its seed."""
        return int(self.tuned.learnt.settings.seed)

    @property
    def dev(self) -> float:
        """What it came to on dev: the figure that chooses."""
        return float(self.tuned.run.figures[self.tuned.learnt.figures[0].name])


@dataclass(frozen=True)
class Tried:
    """All trials, and what is kept."""

    kept: TunedRun
    rates: tuple[Trial, ...]  # one for each learning rate, where there is a choice
    seeds: tuple[Trial, ...]  # one for each seed, where there are several
    folds: tuple[Trial, ...]


def is_several(out: Path) -> bool:
    """Whether a run directory is one of several trials."""
    return (out / PLAN.sign).is_file()


def read_plan(out: Path) -> tuple[TrialPlan, dict[str, Path], dict[str, Any]]:
    """What is tried in a directory, where its files are, and the settings that were given."""
    content = read_sealed(out / PLAN.sign)
    plan = TrialPlan(**{**content["plan"], "lrs": tuple(content["plan"]["lrs"])})
    return plan, {name: Path(place) for name, place in content["places"].items()}, content["given"]


def try_several(
    out: Path, plan: TrialPlan, places: Mapping[str, Path], given: Mapping[str, Any], *, resume: bool
) -> Tried:
    """Run all trials, or those that are left, and keep the best."""
    asked = {
        "plan": {"task": plan.task, "lrs": list(plan.lrs), "seeds": plan.seeds, "folds": plan.folds},
        "places": {name: str(place.resolve()) for name, place in places.items()},
        "given": dict(given),
    }
    with _claimed(out, asked, resume=resume):
        request = new_request(places, given)
        learnt, test = TASKS[plan.task].open(request)
        learnt.say_what_is_learnt()
        rates = tuple(_trial(out, f"lr-{lr:g}", _with(learnt, lr=lr), test, request) for lr in plan.lrs)
        if rates:
            first = max(rates, key=_goodness)
        else:
            first = _trial(out, f"seed-{learnt.settings.seed}", learnt, test, request)
        begin = learnt.settings.seed
        others = [
            _trial(out, f"seed-{seed}", _with(_opened(plan.task, request, seed), lr=first.lr), test, request)
            for seed in range(begin + 1, begin + plan.seeds)
        ]
        parts = _with(learnt, lr=first.lr).folds(plan.folds) if plan.folds else ()
        folds = [
            _trial(out, f"fold-{number}", fold, held_out, request)
            for number, (fold, held_out) in enumerate(parts, start=1)
        ]
        best = max((first, *others), key=_goodness)
        kept = best.tuned
        if launched()[1] == 0:  # other processes go on from the trial itself, which is there already
            keep_run(best.tuned.run.path, out)
            kept = replace(best.tuned, run=replace(best.tuned.run, path=out))
        return Tried(kept, rates, (first, *others) if others else (), tuple(folds))


@contextmanager
def _claimed(out: Path, asked: dict[str, Any], *, resume: bool) -> Iterator[None]:
    """The directory of the trials for this command alone; of many processes the first has it for all."""
    if launched()[1]:
        yield
        return
    with claim_directory(out, PLAN, resume=resume, doing="tuning") as begun:
        if begun:
            before = read_sealed(out / PLAN.sign)
            refuse_differences(out, before["plan"], asked["plan"], flags=FLAGS, work="the run")
            asked = {**before, "places": {**before["places"], **asked["places"]}}  # where files are may change
        write_json(out / PLAN.sign, with_seal(asked))
        try:
            yield
        except BadInput:
            if not any((out / TRIALS).glob("*")):  # nothing was begun: the command, put right, finds a free place
                shutil.rmtree(out, ignore_errors=True)
            raise


def _opened(task: str, request: TuneRequest, seed: int) -> Tuning:
    """The same tuning with another seed: another head, another order and, without --dev, another held-out part."""
    learnt, _ = TASKS[task].open(replace(request, settings=replace(request.settings, seed=seed)))
    assert isinstance(learnt, Tuning)
    return learnt


def _with(learnt: Any, **settings: Any) -> Any:
    """The same tuning with other settings."""
    changed: TuneSettings = replace(learnt.settings, **settings)
    return replace(learnt, settings=changed)


def _trial(out: Path, name: str, learnt: Any, test: Any, request: TuneRequest) -> Trial:
    """Run a trial, or go on with it."""
    path = out / TRIALS / name
    begun = (path / DESCRIPTION).exists()
    if not begun:
        shutil.rmtree(path, ignore_errors=True)  # of a trial that stopped before its first step
    say(f"trial {name}")
    command = f"unmask tune {learnt.task} --resume {out}"
    try:
        return Trial(name, run_tuning(path, learnt, test, replace(request, resume=begun), again=command))
    except (BadInput, Refused) as error:  # what may be done is done to the run, and not to one of its trials
        raise type(error)(str(error).replace(str(path), str(out))) from error


def _goodness(trial: Trial) -> float:
    sign = 1 if trial.tuned.learnt.figures[0].better == "more" else -1
    return sign * trial.dev


def keep_run(trial: Path, out: Path) -> None:
    """The files of the best trial as those of the run; they are linked, and take no room."""
    for file in sorted(trial.rglob("*")):
        place = out / file.relative_to(trial)
        if file.is_dir():
            place.mkdir(exist_ok=True)
        else:
            place.unlink(missing_ok=True)
            try:
                os.link(file, place)
            except OSError:  # a file system without links
                shutil.copy2(file, place)


def planned(task: str, lrs: Sequence[float], seeds: int | None, folds: int | None) -> TrialPlan:
    """The plan of what was asked for."""
    seeds = 1 if seeds is None else seeds
    return TrialPlan(task=task, lrs=tuple(lrs) if len(lrs) > 1 else (), seeds=seeds, folds=folds or 0)
