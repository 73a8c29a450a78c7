"""The run directory: what a run is, where it stands and what it has made.

run/
  README.md        what is here, for a person
  run.json         what the run is: recipe, data, budget, versions; resuming compares with it
  metrics.jsonl    every logged step and every validation
  report.html      the run on one page, its plot in plot.png too
  tensorboard/     the metrics for TensorBoard, if asked for
  checkpoints/     the newest two moments to go on from
  model/           the model, as transformers loads it
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Damaged, Interrupted, Refused, Terminated
from unmask.files import saving, seal_holds, sealed, write_json

FORMAT = 1
FREE = frozenset({"computing.device", "computing.checkpointing", "computing.shard"})  # may change when a run goes on
LOOKS = 10  # at a lock before it is said to be held

README = """# A run of unmask

| here | what it is |
|---|---|
| `model/` | the model: `AutoModelForMaskedLM.from_pretrained("model")` or `unmask fill` |
| `run.json` | what was trained, on what, with which settings and versions |
| `metrics.jsonl` | a line for each logged step and each validation on the fixed held-out masks |
| `report.html`, `plot.png` | the run on one page: figures, curves, settings, how to use the model |
| `checkpoints/` | the newest moments to go on from: `unmask pretrain … --resume` |
"""


@dataclass(frozen=True)
class Run:
    """A run directory, locked for as long as it is open."""

    path: Path
    description: dict[str, Any]
    also: Callable[[dict[str, Any]], None] | None = None  # who else is told what is logged

    @property
    def checkpoints(self) -> Path:
        """Where the moments to go on from are."""
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        """Where the exported model is."""
        return self.path / "model"

    @property
    def metrics(self) -> Path:
        """Where steps are logged."""
        return self.path / "metrics.jsonl"

    def log(self, figures: dict[str, Any]) -> None:
        """Add one line to the metrics; it survives the process."""
        with saving(self.metrics), self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")
        if self.also is not None:
            self.also(figures)

    def logged(self) -> Iterator[dict[str, Any]]:
        """What was logged, line by line."""
        with self.metrics.open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def rewind(self, step: int) -> None:
        """Take back what was logged after a step, and the end: it is going to happen again."""
        if not self.metrics.exists():
            return
        kept = [line for line in self.metrics.read_text(encoding="utf-8").splitlines() if _up_to(line, step)]
        with saving(self.metrics):
            aside = self.metrics.with_name(".metrics.writing")
            aside.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
            aside.replace(self.metrics)


def _up_to(line: str, step: int) -> bool:
    """Whether a line of metrics is whole, speaks of a step up to this one, and not of the end of the run."""
    try:
        figures = json.loads(line)
        return bool(figures["step"] <= step) and not figures.get("final")
    except (ValueError, KeyError, TypeError):
        return False  # the last line of a process that was killed while it wrote


@contextmanager
def opened(path: Path, asked: dict[str, Any], *, resume: bool) -> Iterator[Run]:
    """Open a run directory for training: a new one, or the same one again with `resume`.

    What is asked for must be what the run is; the first field that differs is named.
    """
    asked = json.loads(json.dumps(asked))  # as it comes back from run.json: tuples are lists there
    if path.is_file():
        raise BadInput(f"{path}: is a file; --out names a directory for the run")
    there = path.is_dir() and any(each.name != ".lock" for each in path.iterdir())
    if there and not resume:
        raise Refused(f"{path}: is not empty; add --resume to go on with it, or choose another --out")
    with saving(path):
        path.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        description = path / "run.json"
        if there and not description.exists() and not _abandoned(path):
            raise Refused(f"{path}: has files but no run.json, so it is not a run; choose another --out")
        if description.exists():
            known = read_description(path)
            _compare(path, known, asked)
            yield Run(path, known)
        else:
            with saving(path):
                (path / "README.md").write_text(README, encoding="utf-8")
            with _cleared_unless_begun(path):
                yield Run(path, asked)


@contextmanager
def _cleared_unless_begun(path: Path) -> Iterator[None]:
    """Leave nothing behind where nothing was saved: the command, put right or given again, finds a free place."""
    try:
        yield
    except (BadInput, Interrupted, Terminated):
        if not (path / "checkpoints").exists():
            shutil.rmtree(path, ignore_errors=True)
        raise


def describe(run: Run, steps: int, threads: int, *, write: bool = True) -> Run:
    """Settle what was left to the start of the run: how many steps the budget buys, on how many threads."""
    description = {**run.description, "steps": steps, "threads": threads}
    if write:
        write_json(run.path / "run.json", sealed(description))
    return Run(run.path, description)


def read_description(path: Path) -> dict[str, Any]:
    """What the run in this directory is."""
    file = path / "run.json"
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path}: is not a run directory (it has no run.json)") from None
    except (OSError, ValueError) as error:
        raise Damaged(f"{file}: cannot be read ({error})") from error
    if not isinstance(known, dict) or not seal_holds(known):
        raise Damaged(f"{file}: its hash does not hold; it was changed after it was written")
    if known.get("format") != FORMAT:
        raise Refused(
            f"{file}: made by unmask {known.get('unmask', '?')} (run format {known.get('format')}), this one reads "
            f"format {FORMAT}; use that version, or start again with another --out"
        )
    return {key: value for key, value in known.items() if key != "seal"}


def _abandoned(path: Path) -> bool:
    """Whether a run stopped here before it had begun: only the README was written."""
    return {each.name for each in path.iterdir()} <= {".lock", "README.md", ".run.json.writing"}


def _compare(path: Path, known: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse to go on with another run than the one that is there, by the name of what differs."""
    before, now = _flat(known), _flat(asked)
    for field in now:
        free = field in FREE or (field.startswith("budget.") and asked["budget"] is None)
        if before.get(field) != now[field] and not free:
            raise Refused(
                f"{path}: cannot go on: {field} was {_short(before.get(field))} and is now {_short(now[field])}; "
                "give the same as before, or start anew with another --out"
            )


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested fields by dotted names."""
    flat: dict[str, Any] = {}
    for key, part in value.items():
        if isinstance(part, dict):
            flat |= _flat(part, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = part
    return flat


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:12] + "…"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process, however it ends."""
    lock = path / ".lock"
    with saving(lock), lock.open("a+") as file:
        if not _taken(file.fileno()):
            file.seek(0)
            owner = file.read().strip() or "?"
            raise Refused(f"{path}: another process ({owner}) is training here; wait for it or stop it")
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def _taken(handle: int) -> bool:
    """Take the lock; whoever only looks whether it is held holds it for an instant, so try a few times."""
    for _ in range(LOOKS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False
