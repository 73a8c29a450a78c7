"""A run as it stands, read from its directory while it trains or afterwards.

In: a run directory. Out: what it is, where it stands and every figure it logged. Only the standard library is needed
and nothing is written, so that looking at a run is quick and cannot disturb it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from unmask.errors import BadInput, Damaged, Refused
from unmask.files import seal_holds
from unmask.results import FigureTitle, RunStatus, Validation
from unmask.runs.commands import next_commands
from unmask.runs.description import figure_titles
from unmask.runs.directory import (
    CHECKPOINT_INDEX,
    CHECKPOINT_TENSORS,
    CHECKPOINTS,
    DESCRIPTION,
    FINAL,
    LOCK,
    METRICS,
    MODEL,
    STOPPED,
    read_description,
)

RECENT = 20  # logged steps that tell how fast a run is now
PLANNED = "planned_steps"  # of the whole run, where they are planned again on the way
ENDING = "ending"  # of the line that says why a run comes to its end before its budget does
HELD_OUT = "validation_"  # before the name of a figure of a sample of what is held out, always the same

Line = dict[str, Any]


@dataclass(frozen=True)
class History:
    """A run at one moment."""

    path: Path
    description: dict[str, Any]  # empty while the run finds out how long its steps take
    lines: tuple[Line, ...]  # of the metrics, those that are whole
    running: bool
    problem: str = ""  # what is wrong with the directory
    foreign: bool = False  # made by a version whose runs this one does not read

    @property
    def steps(self) -> int | None:
        """Of the whole run, as they are planned now; none while it finds out how long its steps take."""
        plans = (line[PLANNED] for line in reversed(self.lines) if isinstance(line.get(PLANNED), int))
        return next(plans, self.description.get("steps"))

    @property
    def step_lines(self) -> list[Line]:
        """The logged steps."""
        return [line for line in self.lines if _is_number(line.get("tokens")) and line["step"] > 0]

    @property
    def validation_lines(self) -> list[Line]:
        """The measurements on a sample of what is held out, always the same one."""
        headline = HELD_OUT + self.titles[0].name
        return [line for line in self.lines if isinstance(line.get(headline), int | float)]

    @property
    def final_line(self) -> Line:
        """The measurement on everything that is held out, in the end; empty before."""
        headline = FINAL + self.titles[0].name
        return next((line for line in reversed(self.lines) if isinstance(line.get(headline), int | float)), {})

    @property
    def titles(self) -> tuple[FigureTitle, ...]:
        """The figures that people look at, the headline first."""
        return figure_titles(self.description)

    @property
    def figure_names(self) -> set[str]:
        """The names of all figures that were logged."""
        return {name for line in self.lines for name, value in line.items() if _is_number(value)}

    @property
    def state(self) -> str:
        """running, finished, stopped, damaged or foreign."""
        if self.running:
            return "running"
        if self.problem:
            return "foreign" if self.foreign else "damaged"
        return "finished" if self.final_line and (self.path / MODEL).is_dir() else "stopped"

    @property
    def stopped_in_order(self) -> bool:
        """Whether the last that is known of a run is that it was asked to stop, and saved everything."""
        return self.state == "stopped" and bool(self.lines) and self.lines[-1].get(STOPPED) is True

    def curve(self, name: str) -> tuple[list[float], list[float]]:
        """A figure against the tokens seen, wherever it was logged as a finite number."""
        points = [(self.tokens_at(line), line[name]) for line in self.lines if _is_number(line.get(name))]
        return [tokens for tokens, _ in points], [value for _, value in points]

    def tokens_at(self, line: Line) -> float:
        """The tokens seen at a line; a validation knows its step only, so they lie between those of logged steps."""
        if _is_number(line.get("tokens")):
            return float(line["tokens"])
        steps, tokens = self._progress
        after = bisect_right(steps, line["step"])
        if after == len(steps):
            return tokens[-1]
        share = (line["step"] - steps[after - 1]) / (steps[after] - steps[after - 1])
        return float(tokens[after - 1] + share * (tokens[after] - tokens[after - 1]))

    @cached_property
    def _progress(self) -> tuple[list[int], list[float]]:
        """Logged steps and the tokens seen at each, from the beginning."""
        tokens_by_step = {0: 0.0} | {line["step"]: float(line["tokens"]) for line in self.step_lines}
        return list(tokens_by_step), list(tokens_by_step.values())

    @property
    def seconds(self) -> float:
        """Spent on steps so far: what was logged tells the speed, and speaks for the steps in between."""
        tokens, seconds = 0, 0.0
        for line in self.step_lines:
            if line.get("tokens_per_second"):
                seconds += (line["tokens"] - tokens) / line["tokens_per_second"]
            tokens = line["tokens"]
        return seconds


def read_history(path: Path) -> History:
    """A run at this moment; damage is part of what is told, and only a path that is no run at all is an error."""
    running = is_locked(path)
    problem, foreign, description = "", False, {}
    try:
        description = read_description(path)
    except BadInput:
        if not running:  # a run that has just begun has no description yet
            raise
    except (Damaged, Refused) as error:
        problem, foreign = str(error), isinstance(error, Refused)
    lines = tuple(read_lines(path / METRICS))
    if not problem and not _can_go_on(path / CHECKPOINTS):
        problem = f"{path / CHECKPOINTS}: every checkpoint is damaged; start again with another --out"
    return History(path, description, lines, running, problem, foreign)


def is_locked(path: Path) -> bool:
    """Whether a live process trains here: the lock goes with the process, however it ends."""
    try:
        handle = os.open(path / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def find_runs(folders: Iterable[Path]) -> Iterator[Path]:
    """Every run in these folders and below; what is inside a run is its own affair."""
    visited: set[Path] = set()
    for folder in folders:
        if not folder.is_dir():
            raise BadInput(f"{folder}: is not a folder; name one that has runs in it")
        for place, below, _ in os.walk(folder):
            path = Path(place)
            if (path / DESCRIPTION).is_file() or is_locked(path):
                below.clear()
                if path.resolve() not in visited:
                    visited.add(path.resolve())
                    yield path
            below[:] = sorted(name for name in below if not name.startswith("."))


def summarize_run(history: History) -> RunStatus:
    """A run in figures."""
    last: Line = history.step_lines[-1] if history.step_lines else {}
    validations = tuple(_validation(line, HELD_OUT) for line in history.validation_lines)
    names = [title.name for title in history.titles]
    return RunStatus(
        path=history.path,
        state=history.state,
        recipe=str(history.description.get("name", "")),
        titles=history.titles,
        step=int(max((line["step"] for line in history.lines), default=0)),
        steps=history.steps,
        tokens=int(last.get("tokens", 0)),
        figures={name: last[name] for name in (*names, "lr") if _is_number(last.get(name))},
        tokens_per_second=_tokens_per_second(history),
        seconds=history.seconds,
        seconds_left=_seconds_left(history),
        best=_best(validations, history.titles[0]),
        last=validations[-1] if validations else None,
        validations=validations,
        final=_validation(history.final_line, FINAL) if history.final_line else None,
        age=_age(history.path),
        problem=history.problem,
        stopped_in_order=history.stopped_in_order,
        next=next_commands(history.path, history.description, history.state),
    )


def _validation(line: Line, prefix: str) -> Validation:
    values = {name.removeprefix(prefix): value for name, value in line.items() if name.startswith(prefix)}
    return Validation(line["step"], values)


def _best(validations: Iterable[Validation], headline: FigureTitle) -> Validation | None:
    """The first of the best by the headline."""
    best: Validation | None = None
    for validation in validations:
        value = validation.figures[headline.name]
        if isfinite(value) and headline.improves(value, None if best is None else best.figures[headline.name]):
            best = validation
    return best


def _tokens_per_second(history: History) -> float | None:
    """Tokens a second, lately."""
    speeds = [line["tokens_per_second"] for line in history.step_lines[-RECENT:] if line.get("tokens_per_second")]
    return median(speeds) if speeds else None


def _seconds_left(history: History) -> float | None:
    """How long the steps that remain take at the speed of the last ones."""
    steps, speed = history.steps, _tokens_per_second(history)
    if not history.running or not steps or not speed:
        return None
    last = history.step_lines[-1]
    return float(max(0, steps - last["step"]) * last["tokens"] / last["step"] / speed)


def _age(path: Path) -> float:
    """Seconds since something was last logged; a clock that was set back makes nothing younger than now."""
    for name in (METRICS, DESCRIPTION, LOCK):
        if (path / name).exists():
            return max(0.0, time.time() - (path / name).stat().st_mtime)
    return 0.0


def read_lines(metrics: Path) -> Iterator[Line]:
    """The lines of the metrics that are whole: a run may be writing the last one."""
    try:
        text = metrics.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for row in text.splitlines():
        try:
            line = json.loads(row)
        except ValueError:
            continue
        if isinstance(line, dict) and isinstance(line.get("step"), int):
            yield line


def _can_go_on(checkpoints: Path) -> bool:
    """Whether there is no checkpoint, or one whose index and files are there; hashing the files takes a resume."""
    paths = list(checkpoints.glob("step-*"))
    return not paths or any(_looks_whole(path) for path in paths)


def _looks_whole(path: Path) -> bool:
    try:
        index = json.loads((path / CHECKPOINT_INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(index, dict) and seal_holds(index) and all((path / name).is_file() for name in CHECKPOINT_TENSORS)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
