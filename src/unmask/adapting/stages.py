"""What comes before the adaptation itself: words put into the vocabulary, and what is new warmed alone.

In: a model and its texts as they were given. Out: a `Start`. What was done lies in the run directory, each part whole
or not there, so that a command that was stopped goes on where it was; `adapting.json` has what was asked for until the
run itself has begun.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from pathlib import Path

from unmask.adapting.adapt import KIND, Adapting
from unmask.adapting.extension import check_tokenizer, extension_of
from unmask.adapting.outcome import read_outcome
from unmask.adapting.request import REQUEST, AdaptRequest
from unmask.adapting.start import Start, lacking_head
from unmask.adapting.warming import FOLDER as WARMING
from unmask.adapting.warming import Warming
from unmask.files import with_seal, write_json
from unmask.results import Adapted
from unmask.runs.commands import resume_command
from unmask.runs.directory import DESCRIPTION, MODEL, RUN, claim_directory, read_sealed
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget
from unmask.training.interrupt import interruptible
from unmask.training.machine.distributed import launched, launcher
from unmask.training.run_job import run_job


def run_adaptation(out: Path, request: AdaptRequest) -> Adapted:
    """Adapt a model, or go on adapting it."""
    start = prepare_start(out, request)
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
    )
    return read_outcome(finished_run, start.directory, lr=adapting.lr, forget=request.settings.forget)


def prepare_start(out: Path, request: AdaptRequest) -> Start:
    """What the adaptation starts from, made where it is not there yet."""
    given = _given_start(request)
    Adapting(given, request.settings, request.seed).check()
    if not given.lacking and request.settings.extend is None:
        return given
    _note_request(out, request)
    start = given if request.settings.extend is None else _extended(out, request, given)
    _warm(out, request, start)
    return replace(start, directory=out / WARMING / MODEL)


def _given_start(request: AdaptRequest) -> Start:
    places = request.places
    model, domain = places["model"], Dataset.open(places["data"])
    general = Dataset.open(places["replay"]) if "replay" in places else None
    for dataset in (domain, *(() if general is None else (general,))):
        check_tokenizer(model, dataset)
    return Start(model, domain, general, model, domain, general, lacking=lacking_head(model))


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


def _extended(out: Path, request: AdaptRequest, given: Start) -> Start:
    again = resume_command(out, KIND, program=launcher())
    with interruptible() as interruption, interruption.at_once(f"stopped before it began; to go on: {again}"):
        extension = extension_of(out, given.model, given.data, given.replay, str(request.settings.extend))
    return replace(given, domain=extension.domain, general=extension.general, extension=extension)


def _warm(out: Path, request: AdaptRequest, start: Start) -> None:
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
        again=resume_command(out, KIND, program=launcher()),
    )
