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
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Interrupted, Refused, Terminated
from unmask.files import explain_disk_errors, missing_path, path_kind, with_seal, write_json, write_text
from unmask.runs.claim import LongWork, claim_directory, read_sealed, refuse_differences
from unmask.runs.commands import PRETRAIN, resume_command

FORMAT = 2
LOCK, METRICS, DESCRIPTION = ".lock", "metrics.jsonl", "run.json"
CHECKPOINTS, BEST, STABLE, MOMENTS = "checkpoints", "best", "stable", "moments"
MODEL, SHAPE = "model", "shape"
CHECKPOINT_INDEX, CHECKPOINT_TENSORS = "checkpoint.json", ("model.safetensors", "optimizer.safetensors")
LATER_SETTINGS = {  # that runs of earlier versions do not name, and what they had
    ("recipe", "settings", "optimizing", "layer_decay"): 1.0,
    ("recipe", "settings", "optimizing", "full_steps"): None,
    ("recipe", "settings", "optimizing", "fall"): "root",
}
FREE = (  # what may change when a run goes on, each with all that is below it; the run keeps what it was given last
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

README = """# A run of unmask

| here | what it is |
|---|---|
| `model/` | the model, as transformers loads it; its README says how it is used |
| `run.json` | what was trained, on what, with which settings and versions |
| `metrics.jsonl` | a line for each logged step and each validation on what is held out |
| `report.html`, `plot.png` | the run on one page: figures, curves, settings, how to use the model |
| `checkpoints/` | the newest moments to go on from; `unmask runs RUN`, RUN being this directory, names the command |
"""
BEST_ROW = "| `best/` | the best moment by the first figure of `run.json`, which `model/` is of |\n"
SHAPE_ROW = "| `shape/` | the model without its weights: `unmask fill RUN TEXT --step N` takes those of a moment |\n"
TUNED_ROWS = """| `tuned.json` | what came of it: figures with intervals, baselines, what had leaked, errors to read |
| `answers.jsonl` | what it said of each test example, a line each; `unmask compare` sets two runs side by side |
"""


STAGES = ("adapting.json", "extension", "warming", "domain", "task")  # of an adaptation, before the run itself begins
RUN = LongWork("run", DESCRIPTION, LOCK, README + SHAPE_ROW + TUNED_ROWS + BEST_ROW, STAGES)


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
                rows = TUNED_ROWS if request.get("kind", "").startswith("tune") else SHAPE_ROW
                readme = README + rows + (BEST_ROW if request.get("keeps_best") else "")
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
