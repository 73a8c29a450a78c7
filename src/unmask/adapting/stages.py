"""What comes before the adaptation itself: words put into the vocabulary, and what is new warmed alone.

In: a model and its texts as they were given. Out: an `AdaptStart`. What was done lies in the run directory, each part
whole or not there, so that a command that was stopped goes on where it was; `adapting.json` has what was asked for
until the run itself has begun.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, replace
from pathlib import Path

from unmask.adapting.adapt import KIND, Adapting
from unmask.adapting.extension import Extension, check_tokenizer, extension_of, read_extension
from unmask.adapting.fitting import is_detector
from unmask.adapting.outcome import read_outcome
from unmask.adapting.request import REQUEST, AdaptRequest
from unmask.adapting.start import AdaptStart, lacking_head
from unmask.adapting.warming import FOLDER as WARMING
from unmask.adapting.warming import Warming
from unmask.errors import BadInput
from unmask.files import with_seal, write_json
from unmask.progress import say
from unmask.results import Adapted
from unmask.runs.claim import claim_directory, read_sealed
from unmask.runs.commands import resume_command
from unmask.runs.directory import DESCRIPTION, LOCK, MODEL, RUN, STABLE
from unmask.tokens.reencode import reencode
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.manifest import MANIFEST
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.training.budget import Budget
from unmask.training.interrupt import interruptible
from unmask.training.machine.distributed import launched, launcher
from unmask.training.run_job import run_job

DOMAIN, TASK = "domain", "task"  # in the run directory: the run of the domain before the task's, and the task's tokens


def run_adaptation(out: Path, request: AdaptRequest, again: str | None = None) -> Adapted:
    """Adapt a model, or go on adapting it; `again` is the command that goes on."""
    again = again or resume_command(out, KIND, program=launcher())
    if "task" in request.places:
        request = task_request(out, request, again)
    start = prepare_start(out, request, again)
    adapting = Adapting(start, request.settings, request.seed)
    adapting.check()
    adapting.say_what_is_learnt()
    finished_run = run_job(
        adapting.job(),
        out,
        request.budget,
        resume=request.resume,
        saving=request.saving,
        reproducible=request.reproducible,
        computing=request.computing,
        workers=request.workers,
        again=again,
    )
    return read_outcome(finished_run, start.directory, lr=adapting.lr, forget=request.settings.forget)


def task_request(out: Path, request: AdaptRequest, again: str) -> AdaptRequest:
    """What is asked for once the domain is done, in a run of its own inside this one: the text of the task.

    What the domain has cost of the budget of forgetting is gone. Without a domain the task's text is all there is.
    """
    places = {name: place for name, place in request.places.items() if name != "task"}
    task, budget = request.places["task"], Budget(epochs=request.settings.task_epochs)
    if "data" not in places:
        own = request.budget if request.budget.is_set else budget
        return replace(request, places={**places, "data": task}, budget=own)
    _note_request(out, request)
    inside = out / DOMAIN
    begun = any((inside / sign).exists() for sign in (DESCRIPTION, REQUEST))
    done = run_adaptation(inside, replace(request, places=places, resume=begun), again)
    settings = replace(request.settings, extend=None)
    if settings.forget is not None and done.general is not None:
        settings = replace(settings, forget=round(max(0.0, settings.forget - max(0.0, done.general.change.value)), 6))
    places |= {"model": inside / MODEL, "data": task}
    if (extension := read_extension(inside)) is not None:
        places["data"] = _in_new_tokens(task, extension, out / TASK)
        if extension.general is not None:
            places["replay"] = extension.general.path
    say(f"the domain is done ({done.why}); now the text of the task")
    return replace(request, places=places, settings=settings, budget=budget)


def _in_new_tokens(task: Path, extension: Extension, place: Path) -> Path:
    """The text of the task in the tokens that the domain's words are among."""
    _, rank = launched()
    if not (place / MANIFEST).exists() and not rank:
        reencode(Dataset.open(task), load_tokenizer(extension.path / "tokenizer"), place)
    while not (place / MANIFEST).exists():
        time.sleep(0.2)
    return place


def prepare_start(out: Path, request: AdaptRequest, again: str) -> AdaptStart:
    """What the adaptation starts from, made where it is not there yet."""
    given = _given_start(request)
    Adapting(given, request.settings, request.seed).check()
    if not given.lacking and request.settings.extend is None:
        return given
    _note_request(out, request)
    try:
        start = given if request.settings.extend is None else _extended(out, request, given, again)
    except BadInput:
        _forget_request(out)
        raise
    _warm(out, request, start, again)
    return replace(start, directory=out / WARMING / MODEL)


def _given_start(request: AdaptRequest) -> AdaptStart:
    places = request.places
    model, domain = places["model"], Dataset.open(places["data"])
    general = Dataset.open(places["replay"]) if "replay" in places else None
    for dataset in (domain, *(() if general is None else (general,))):
        check_tokenizer(model, dataset)
    detects = is_detector(model) and request.settings.objective in (None, "replaced")
    lacking = frozenset[str]() if detects else lacking_head(model)
    plain = not lacking and request.settings.extend is None
    moment = moment_before_decay(model) if plain else None
    return AdaptStart(model, domain, general, model, domain, general, lacking=lacking, moment=moment)


def moment_before_decay(model: Path) -> Path | None:
    """The checkpoint of a run of ours from before its learning rate fell, where one was kept."""
    kept = sorted((model.parent / STABLE).glob("step-*")) if model.name == MODEL else []
    return kept[-1] if kept else None


def _note_request(out: Path, request: AdaptRequest) -> None:
    """Keep what was asked for, so that a run goes on that was stopped before it had begun."""
    _, rank = launched()
    if rank or (out / DESCRIPTION).exists():
        return
    with claim_directory(out, RUN, resume=request.resume, doing="preparing"):
        asked = {
            "kind": KIND,
            "places": {name: str(place.resolve()) for name, place in request.places.items()},
            "adapting": asdict(request.settings),
            "budget": {name: value for name, value in asdict(request.budget).items() if value is not None},
            "seed": request.seed,
            "saving": asdict(request.saving),
            "reproducible": request.reproducible,
            "computing": asdict(request.computing),
            "workers": request.workers,
        }
        if (out / REQUEST).exists() and read_sealed(out / REQUEST) != asked:  # another command, whose stages are stale
            shutil.rmtree(out / WARMING, ignore_errors=True)
        write_json(out / REQUEST, with_seal(asked))


def _forget_request(out: Path) -> None:
    """Leave nothing behind where nothing could be begun: the command, put right, finds a free place."""
    if launched()[1] == 0 and {entry.name for entry in out.iterdir()} <= {REQUEST, LOCK}:
        shutil.rmtree(out, ignore_errors=True)


def _extended(out: Path, request: AdaptRequest, given: AdaptStart, again: str) -> AdaptStart:
    with interruptible() as interruption, interruption.at_once(f"stopped before it began; to go on: {again}"):
        extension = extension_of(out, given.model, given.data, given.replay, str(request.settings.extend))
    return replace(given, domain=extension.domain, general=extension.general, extension=extension)


def _warm(out: Path, request: AdaptRequest, start: AdaptStart, again: str) -> None:
    """Train what is new alone, unless that is done."""
    if (out / WARMING / MODEL).is_dir():
        return
    warming = Warming(start, request.settings, request.seed)
    warming.say_what_is_learnt()
    run_job(
        warming.job(),
        out / WARMING,
        Budget(steps=request.settings.warm_steps),
        resume=True,
        saving=replace(request.saving, report=False, tensorboard=False),
        reproducible=request.reproducible,
        computing=replace(request.computing, shard=False),
        workers=request.workers,
        again=again,
    )
