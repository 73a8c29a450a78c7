"""One runner for everything that trains: the run directory, its budget, its checkpoints, its end.

In: a job and a budget. Out: a run directory with what the job exports, however often it was stopped on the way.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from unmask import __version__
from unmask.errors import ERRORS, BadInput, MissingOption, UnmaskError
from unmask.progress import say, task
from unmask.runs import tensorboard
from unmask.runs.commands import resume_command
from unmask.runs.directory import (
    DESCRIPTION,
    FINAL,
    FORMAT,
    INTERVAL,
    SHAPE,
    Run,
    describe_run,
    open_run,
    read_description,
)
from unmask.runs.history import read_lines
from unmask.runs.reporting import open_reporter
from unmask.training import checkpoint
from unmask.training.budget import HOW_LONG, Budget, steps_for
from unmask.training.interrupt import interruptible
from unmask.training.job import FinishedRun, Job
from unmask.training.loop import Position
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import PLAIN, Computing, device_for, machine_of, make_ready
from unmask.training.machine.distributed import World, launcher, process_group
from unmask.training.machine.fastest import fastest_precision
from unmask.training.observer import Observer, Saving, brief_figures, prefixed_figures
from unmask.training.pacing import Clock
from unmask.training.precision import AUTO, PRECISIONS
from unmask.training.session import Session

CALIBRATED_STEPS = 1000  # what a calibration takes the run to be: its learning rates matter little
FLAGS = {  # that the fields of every run are asked for by
    "unmask": "the version of unmask",
    "seed": "--seed",
    "keeps_best": "--keep-best",
    **{f"budget.{name}": f"--{name}" for name in ("minutes", "steps", "tokens", "epochs")},
    **{f"computing.{name}": f"--{name}" for name in ("precision", "compile")},
}


def run_job(
    job: Job,
    out: Path,
    budget: Budget,
    *,
    resume: bool = False,
    saving: Saving | None = None,
    reproducible: bool = False,
    computing: Computing = PLAIN,
    workers: int | None = None,
    again: str | None = None,
    clock: Clock = time.perf_counter,
) -> FinishedRun:
    """Train a job to its end, or go on with a run of it that was stopped.

    `again` is the command that goes on, and minutes are those of the clock.
    """
    start = clock()
    saving = saving or Saving()
    device = device_for(computing.device)
    begins = "the same command begins again" if again is None else f"{again} goes on"
    again = again or resume_command(out, job.kind, program=launcher())
    if resume and computing.precision == AUTO:
        computing = _in_recorded_precision(computing, out)
    settings = _settings(job, budget, computing, saving, reproducible=reproducible, workers=workers)
    workers = _workers(workers, device)
    if saving.tensorboard:
        tensorboard.check_installed()
    if not budget.is_set and not resume:
        raise MissingOption(HOW_LONG)
    if computing.recompute or computing.compile:  # what cannot be computed leaves nothing behind
        make_ready(job.build(fresh=False), computing, device)
    with (
        process_group(
            device, micro_batches=job.micro_batches, reproducible=reproducible, shard=computing.shard
        ) as world,
        shared_run(out, settings, resume, world, flags={**FLAGS, **job.flags}) as run,
        interruptible() as interruption,
    ):
        keep_large_blocks()
        torch.set_num_threads(run.description.get("threads", torch.get_num_threads()))
        with interruption.at_once(f"stopped before training went on: nothing is lost; {begins}"):
            run = _with_precision(run, computing, world)
            computing = replace(computing, precision=run.description["computing"]["precision"])
            run = _with_steps(run, job, budget, computing, world, start, clock)
            session = Session.begin(
                job,
                run.description["steps"],
                computing,
                world,
                seconds=_seconds(run.description),
                clock=clock,
                fresh=not checkpoint.any_in(run.checkpoints),
            )
            if world.first and job.write_shape is not None and not (run.path / SHAPE).exists():
                job.write_shape(session.learner, run.path / SHAPE)
        facts = {"parameters": f"{session.parameters:,}", **job.facts}
        outputs = {"report": saving.report and world.first, "tensorboard": saving.tensorboard and world.first}
        with open_reporter(run, facts, **outputs) as (run, reporter):
            observer = Observer(session, run, interruption, saving, world, reporter, again)
            position = observer.take_up()
            if (recorded := finished_before(session, run, position, saving, world)) is not None:
                say(f"already finished: {position.step:,} steps; what was measured then is given again")
                return recorded
            position = observer.train(position, workers, start)
            with interruption.at_once(
                f"stopped after the last step, which is saved; to measure and export the model: {again}"
            ):
                return finish(session, run, position, saving, world)


def _workers(workers: int | None, device: torch.device) -> int:
    if workers is None:
        return 2 if device.type == "cuda" else 0  # see `training.loader`
    if workers < 0:
        raise BadInput(f"--workers {workers}: give 0 or more")
    return workers


def _settings(
    job: Job, budget: Budget, computing: Computing, saving: Saving, *, reproducible: bool, workers: int | None
) -> dict[str, Any]:
    """What a run is and needs: `run.json` keeps it, and a resumed run agrees with it but for what is free there."""
    saved_how = asdict(saving)
    return {
        "format": FORMAT,
        "unmask": __version__,
        "kind": job.kind,
        "name": job.name,
        **job.settings,
        "seed": job.seed,
        "budget": asdict(budget) if budget.is_set else None,
        "computing": asdict(computing),
        "keeps_best": saved_how.pop("best"),
        "saving": saved_how,
        "reproducible": reproducible,
        "workers": workers,
        "places": dict(job.places),
        "figures": [asdict(title) for title in job.figures],
        "uses": list(job.uses),
        "example": job.example,
    }


def _in_recorded_precision(computing: Computing, out: Path) -> Computing:
    """How a run goes on whose precision is left open: in its own."""
    recorded = read_description(out) if (out / DESCRIPTION).exists() else {}
    return replace(computing, precision=recorded.get("computing", {}).get("precision", AUTO))


def _with_precision(run: Run, computing: Computing, world: World) -> Run:
    """The run with what it computes in, which the first process finds out."""
    asked = run.description["computing"]
    if asked["precision"] != AUTO:
        return run
    names = [*PRECISIONS]
    device = device_for(computing.device)
    name = fastest_precision(computing, device, reproducible=world.reproducible) if world.first else names[0]
    precision = names[world.agree(names.index(name))]
    return replace(run, description={**run.description, "computing": {**asked, "precision": precision}})


def _with_steps(
    run: Run, job: Job, budget: Budget, computing: Computing, world: World, start: float, clock: Clock
) -> Run:
    """The run with the steps that its budget buys, or seems to."""
    if "steps" in run.description:
        return run

    def trial() -> Session:
        return Session.begin(job, CALIBRATED_STEPS, computing, world, fresh=False)

    steps = steps_for(budget, job, trial, start, world, clock)
    machine = asdict(machine_of(device_for(computing.device), world.size))
    return describe_run(run, steps, torch.get_num_threads(), machine=machine, write=world.first)


def _seconds(description: Mapping[str, Any]) -> float | None:
    """How long a run may take, where its budget says so."""
    minutes = (description.get("budget") or {}).get("minutes")
    return None if minutes is None else 60 * minutes


@contextmanager
def shared_run(
    out: Path, settings: Mapping[str, Any], resume: bool, world: World, flags: Mapping[str, str] | None = None
) -> Iterator[Run]:
    """The run directory: opened and locked by the first process, looked at by the others."""
    if world.first:
        with ExitStack() as opened:
            try:
                run = opened.enter_context(open_run(out, settings, resume=resume, flags=flags))
            except UnmaskError as error:
                world.total(error.code)  # the others need not wait for a process that is gone
                raise
            world.total(0)
            yield run
    else:
        (code,) = world.total(0)
        if code:
            kind = next(kind for kind in ERRORS if kind.code == code)
            raise kind(f"{out}: the first process could not open the run; it says why")
        exists = (out / DESCRIPTION).exists()
        yield Run(out, read_description(out) if exists else dict(settings))


def finish(session: Session, run: Run, position: Position, saving: Saving, world: World) -> FinishedRun:
    """Measure on everything that is held out, export the model and say what came out."""
    job, step = session.job, position.step
    if saving.best and (best := checkpoint.newest(run.best)) is not None:
        session.restore_weights(best)
        step = best.step
    with task("Validating on all that is held out") as progress:
        measured = session.measure(None, world)
        figures = {name: value for name, value in measured.items() if not name.startswith(INTERVAL)}
        progress(1, note=brief_figures(figures, job))
    finished_run = _finished_run(session, run, position, step, figures)
    learner = session.whole_learner()
    if world.first:
        job.export(learner, finished_run)
        bounds = {name: value for name, value in measured.items() if name.startswith(INTERVAL)}
        line = {"step": position.step, **prefixed_figures(figures, FINAL), **bounds}
        run.log(line)  # last: whoever reads it finds all the rest
    world.wait()
    return finished_run


def finished_before(session: Session, run: Run, position: Position, saving: Saving, world: World) -> FinishedRun | None:
    """What came out of a run that has come to its end already; none if something is left to do, as the first says."""
    figures: dict[str, float] = {}
    unwritten = (
        saving.tensorboard and not (run.path / tensorboard.FOLDER).exists()
    )  # events are written as lines are logged
    if position.step == session.pacer.timetable.steps and run.model.is_dir() and not unwritten:
        figures = final_figures(read_lines(run.metrics), position.step)
    (recorded,) = world.total(bool(figures) and world.first)
    if not recorded:
        return None
    best = checkpoint.newest(run.best) if saving.best else None
    return _finished_run(session, run, position, position.step if best is None else best.step, figures)


def final_figures(lines: Iterable[Mapping[str, Any]], step: int) -> dict[str, float]:
    """The figures of the end at this step among the lines of the metrics; none where it did not come to that."""
    return {
        name.removeprefix(FINAL): float(value)
        for line in lines
        if line["step"] == step
        for name, value in line.items()
        if name.startswith(FINAL)
    }


def _finished_run(
    session: Session, run: Run, position: Position, step: int, figures: Mapping[str, float]
) -> FinishedRun:
    return FinishedRun(
        path=run.path,
        description=run.description,
        parameters=session.parameters,
        step=step,
        progress=session.pacer.timetable.progress(max(0, step - 1)),
        steps=position.step,
        tokens=position.tokens,
        seconds=position.seconds,
        figures=figures,
        ended=session.pacer.ending,
    )
