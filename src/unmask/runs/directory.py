"""The run directory: what a run is, where it stands and what it has made.

run/
  README.md        what is here, for a person
  run.json         what the run is: settings, data, budget, versions; resuming compares with it
  metrics.jsonl    every logged step and every validation
  report.html      the run on one page, its plot in plot.png too
  tensorboard/     the metrics for TensorBoard, if asked for
  checkpoints/     the newest two moments to go on from
  best/            the best moment, if asked for
  stable/          the moment before the learning rate falls, if asked for
  moments/         the weights at the start and after each tenth, if asked for
  shape/           what its model is like, without weights: checkpoints are asked with it before there is a model
  fills.json       held-out sentences, filled at each kept moment, for the report
  model/           the model, as transformers loads it

In: what is asked for. Out: a directory that belongs to one process at a time, and that goes on only as what it was.
`claim_directory`, `read_sealed` and `refuse_differences` are for every directory that long work is done in.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Damaged, Interrupted, Refused, Terminated
from unmask.files import (
    SEAL,
    explain_disk_errors,
    free_place,
    missing_path,
    path_kind,
    seal_holds,
    with_seal,
    write_json,
    write_text,
)
from unmask.runs.commands import PRETRAIN, quoted_path, resume_command
from unmask.runs.description import flatten_settings

FORMAT = 2
LOCK, METRICS, DESCRIPTION = ".lock", "metrics.jsonl", "run.json"
CHECKPOINTS, BEST, STABLE, MOMENTS = "checkpoints", "best", "stable", "moments"
MODEL, SHAPE = "model", "shape"
CHECKPOINT_INDEX, CHECKPOINT_TENSORS = "checkpoint.json", ("model.safetensors", "optimizer.safetensors")
# what may change when a run goes on, each with all that is below it; the run keeps what it was given last
LATER_SETTINGS = {  # that runs of earlier versions do not name, and what they had
    ("recipe", "settings", "optimizing", "layer_decay"): 1.0,
}
FREE = (
    "computing.device",
    "computing.recompute",
    "computing.shard",
    "reproducible",
    "saving",
    "workers",
    "places",
    "recipe.settings.phrases",  # a place too; what the list says is compared
    "example",
    "uses",
)
FINAL = "final_"  # before the name of a figure on everything that is held out, of the model that is exported
INTERVAL = "interval_"  # before `loss_low`, `loss_high` and the like: the ends of 95 % intervals of final figures
STOPPED = "stopped"  # of the line that says that the run was asked to stop, and did so with everything saved
LOOKS = 10  # at a lock before it is said to be held

README = """# A run of unmask

| here | what it is |
|---|---|
| `model/` | the model, as transformers loads it; its README says how it is used |
| `run.json` | what was trained, on what, with which settings and versions |
| `metrics.jsonl` | a line for each logged step and each validation on what is held out |
| `report.html`, `plot.png` | the run on one page: figures, curves, settings, how to use the model |
| `checkpoints/` | the newest moments to go on from; `unmask runs RUN`, RUN being this directory, names the command |
| `shape/` | of a model that fills blanks, all but its weights: `unmask fill RUN TEXT --step N` takes a checkpoint's |
"""
BEST_ROW = "| `best/` | the best moment by the first figure of `run.json`, which `model/` is of |\n"


@dataclass(frozen=True)
class Work:
    """A kind of long work that is done in a directory: the file that it is known by, and what may be there before."""

    name: str
    sign: str
    lock: str
    readme: str = ""  # written before the sign
    stages: tuple[str, ...] = ()  # what may have been done here before it begins, which is kept

    def is_left_over(self, entry: Path) -> bool:
        """Whether this is of work that stopped before it had begun; a README of someone else is not."""
        if entry.name == "README.md":
            return self.readme.startswith(entry.read_text(encoding="utf-8", errors="replace")) and bool(self.readme)
        writing = (f".{name}.writing" for name in (self.sign, *self.stages))
        return entry.name in (self.lock, *writing, *self.stages)


STAGES = ("adapting.json", "extension", "warming", "domain", "task")  # of an adaptation, before the run itself begins
RUN = Work("run", DESCRIPTION, LOCK, README + BEST_ROW, STAGES)


@dataclass(frozen=True)
class Run:
    """A run directory, locked for as long as it is open."""

    path: Path
    description: dict[str, Any]
    also: Callable[[dict[str, Any]], None] | None = None  # who else is told what is logged

    @property
    def checkpoints(self) -> Path:
        """Where the moments to go on from are."""
        return self.path / CHECKPOINTS

    @property
    def best(self) -> Path:
        """Where the best moment is."""
        return self.path / BEST

    @property
    def stable(self) -> Path:
        """Where the moment before the learning rate falls is."""
        return self.path / STABLE

    @property
    def moments(self) -> Path:
        """Where the weights of moments all over the run are."""
        return self.path / MOMENTS

    @property
    def model(self) -> Path:
        """Where the exported model is."""
        return self.path / MODEL

    @property
    def metrics(self) -> Path:
        """Where steps are logged."""
        return self.path / METRICS

    def log(self, figures: dict[str, Any]) -> None:
        """Add one line to the metrics; it survives the process."""
        with explain_disk_errors(self.metrics), self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")
        if self.also is not None:
            self.also(figures)

    def read_log(self) -> Iterator[dict[str, Any]]:
        """What was logged, line by line."""
        with self.metrics.open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def rewind(self, step: int) -> None:
        """Take back what was logged after a step, and the end: it is going to happen again."""
        if not self.metrics.exists():
            return
        lines = [line for line in self.metrics.read_text(encoding="utf-8").splitlines() if _up_to(line, step)]
        write_text(self.metrics, "".join(f"{line}\n" for line in lines))


def _up_to(line: str, step: int) -> bool:
    """Whether a line of metrics is whole, speaks of a step up to this one, and not of the end of the run or a stop."""
    try:
        figures = json.loads(line)
        return bool(figures["step"] <= step) and not any(name.startswith(FINAL) or name == STOPPED for name in figures)
    except (ValueError, KeyError, TypeError):
        return False  # the last line of a process that was killed while it wrote


@contextmanager
def open_run(
    path: Path, settings: Mapping[str, Any], *, resume: bool, flags: Mapping[str, str] | None = None
) -> Iterator[Run]:
    """Open a run directory for training: a new one, or the same one again with `resume`.

    What is asked for must be what the run is; all that differs is named, by its flag where it has one.
    """
    request = _as_json(settings)
    with claim_directory(path, RUN, resume=resume, doing="training") as begun:
        if begun:
            before = read_description(path)
            refuse_other_run(path, before, request, flags or {})
            yield _keep_changes(Run(path, before), request)
        else:
            with explain_disk_errors(path):
                readme = README + (BEST_ROW if request.get("keeps_best") else "")
                (path / "README.md").write_text(readme, encoding="utf-8")
            with _cleared_unless_begun(path):
                yield Run(path, request)


@contextmanager
def _cleared_unless_begun(path: Path) -> Iterator[None]:
    """Leave nothing behind where nothing was saved: the command, put right or given again, finds a free place."""
    try:
        yield
    except (BadInput, Interrupted, Terminated):
        if not (path / CHECKPOINTS).exists():
            _clear(path)
        raise


def _clear(path: Path) -> None:
    """Remove what a run has written that did not begin; what was done before it stays, and so does the directory."""
    if not any((path / name).exists() for name in STAGES):
        shutil.rmtree(path, ignore_errors=True)
        return
    for entry in path.iterdir():
        if entry.name not in STAGES:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def refuse_other_run(
    path: Path, description: Mapping[str, Any], request: Mapping[str, Any], flags: Mapping[str, str]
) -> None:
    """Refuse to go on with a run as another than it is; without a budget it is asked for its own."""
    request = {name: value for name, value in _as_json(request).items() if name != "budget" or value is not None}
    as_it_was = resume_command(path, description.get("kind", PRETRAIN))
    refuse_differences(
        path,
        {name: description.get(name) for name in request},
        request,
        free=FREE,
        flags=flags,
        remedy=f"{as_it_was} goes on as it was, another --out starts anew",
    )


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they come back from run.json: tuples are lists there."""
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def _keep_changes(run: Run, request: Mapping[str, Any]) -> Run:
    """The run, which from now on says what it was given last of all that may change."""
    description = run.description | {name: value for name, value in request.items() if value is not None}
    if description != run.description:
        write_json(run.path / DESCRIPTION, with_seal(description))
    return Run(run.path, description)


def describe_run(
    run: Run, steps: int, threads: int, *, machine: Mapping[str, Any] | None = None, write: bool = True
) -> Run:
    """Settle what was left to the start of the run: how many steps the budget buys, on how many threads of what."""
    description = {**run.description, "steps": steps, "threads": threads, "machine": dict(machine or {})}
    if write:
        write_json(run.path / DESCRIPTION, with_seal(description))
    return Run(run.path, description)


def read_description(path: Path) -> dict[str, Any]:
    """What the run in this directory is."""
    file = path / DESCRIPTION
    if not file.exists():
        remedy = "`unmask runs` lists the runs below a folder"
        if not path.exists():
            raise missing_path(path, remedy)
        raise BadInput(f"{path}: is not a run directory but {path_kind(path)}; {remedy}")
    description = read_sealed(file)
    if description.get("format") != FORMAT:
        raise Refused(
            f"{file}: made by unmask {description.get('unmask', '?')} (run format {description.get('format')}), "
            f"this one reads format {FORMAT}; use that version, or start again with another --out"
        )
    return _with_later_settings(description)


def _with_later_settings(description: dict[str, Any]) -> dict[str, Any]:
    """A description with what its version of unmask could not say, as it was all the same."""
    for (*path, name), value in LATER_SETTINGS.items():
        place: Any = description
        for step in path:
            place = place.get(step) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.setdefault(name, value)
    return description


@contextmanager
def claim_directory(path: Path, work: Work, *, resume: bool, doing: str) -> Iterator[bool]:
    """Have a directory to oneself while the block runs; whether such work is begun there, which only `resume` allows.

    Where something else is, nothing is written, not even a lock.
    """
    _look(path, work, resume=resume)
    with explain_disk_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    with _locked(path / work.lock, doing):
        yield _look(path, work, resume=resume)  # again: another process may have been here since


def _look(path: Path, work: Work, *, resume: bool) -> bool:
    """Whether work of this kind is begun here; refused if it may not be gone on with, or if something else is here."""
    if path.is_file():
        raise BadInput(f"{path}: is a file; --out names a directory")
    begun = (path / work.sign).exists()
    if begun and not resume:
        another = quoted_path(free_place(path))
        raise Refused(f"{path}: is not empty; add --resume to go on with it, or choose another --out, as {another}")
    if not begun and path.is_dir() and not all(map(work.is_left_over, path.iterdir())):
        another = quoted_path(free_place(path.with_name(work.name) if path.name else path / work.name))
        raise Refused(
            f"{path}: has files but no {work.sign}, so it is not a {work.name}; choose another --out, as {another}"
        )
    return begun


def read_sealed(file: Path) -> dict[str, Any]:
    """A JSON object that has a hash of itself, without the hash."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Damaged(f"{file}: cannot be read ({error})") from error
    if not isinstance(value, dict) or not seal_holds(value):
        raise Damaged(f"{file}: its hash does not hold; it was changed after it was written")
    return {name: field for name, field in value.items() if name != SEAL}


def refuse_differences(
    path: Path,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    free: tuple[str, ...] = (),
    flags: Mapping[str, str] | None = None,
    work: str = "the run",
    remedy: str = "give the same as before, or start anew with another --out",
) -> None:
    """Refuse to go on with other work than what is there, by the flags, or else the fields, of all that differs."""
    old_fields, new_fields = flatten_settings(before), flatten_settings(after)
    differences: dict[str, str] = {}
    for field in dict.fromkeys((*new_fields, *old_fields)):
        old_value, new_value = old_fields.get(field), new_fields.get(field)
        if old_value != new_value and not any(f"{field}.".startswith(f"{name}.") for name in free):
            name = (flags or {}).get(field, field)
            differences.setdefault(name, f"{name}: {work} has {_short(old_value)}, asked for {_short(new_value)}")
    if differences:
        raise Refused(f"{path}: cannot go on: {'; '.join(differences.values())}; {remedy}")


def _short(value: Any) -> str:
    text = {"None": "none", "True": "yes", "False": "no"}.get(str(value), str(value))
    return text if len(text) <= 40 else text[:12] + "…"


@contextmanager
def _locked(lock: Path, doing: str) -> Iterator[None]:
    """One process at a time; the lock goes with the process, however it ends."""
    with explain_disk_errors(lock), lock.open("a+") as file:
        if not _try_lock(file.fileno()):
            file.seek(0)
            owner = file.read().strip() or "?"
            raise Refused(f"{lock.parent}: another process ({owner}) is {doing} here; wait for it or stop it")
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def _try_lock(handle: int) -> bool:
    """Take the lock; whoever only looks whether it is held holds it for an instant, so try a few times."""
    for _ in range(LOOKS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False
