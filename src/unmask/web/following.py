"""Runs as they stand, for curves that move while they train; and what came of adapting.

In: a place that is a run. Out: `RunDetail`. Metrics are read on from where the last look ended, so a
look costs what is new. Every file is taken as hostile: only finite numbers and short names of it come through, and what
cannot be understood is said instead of shown.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from unmask.errors import BadInput, Damaged, Refused
from unmask.results import FigureTitle, Mixture
from unmask.runs.directory import DESCRIPTION, FINAL, INTERVAL, METRICS, STOPPED, read_description
from unmask.runs.history import HELD_OUT, History, Line, is_locked
from unmask.web.places import Place
from unmask.web.untrusted import LARGEST_WHOLE, is_figure, own_file, own_json, parse_json, parsed

ADAPTED = "adapted.json"
LARGEST_METRICS = 1 << 30  # bytes
MOST_LINES = 200_000
MOST_POINTS = 600  # of a curve that is drawn
MOST_CURVES = 24
LONGEST_NAME = 80


class RunCurve(BaseModel):
    """A figure over the course of a run."""

    name: str
    title: str
    held_out: bool  # measured on what is held out, always the same sample
    percent: bool
    steps: list[int]
    tokens: list[float]
    values: list[float]


class FinalFigure(BaseModel):
    """A figure on everything that is held out, in the end."""

    name: str
    title: str
    percent: bool
    value: float
    low: float | None = None  # 95 %, over documents, as the run kept it
    high: float | None = None


class AdaptedDetail(BaseModel):
    """What came of an adaptation."""

    before: dict[str, float]
    after: dict[str, float]
    mixtures: list[Mixture]
    kept: float
    why: str


class RunDetail(BaseModel):
    """A run at this moment."""

    id: str
    name: str
    version: str  # changes when something has
    state: str  # running, finished, stopped, damaged, foreign or vanished
    recipe: str = ""
    kind: str = ""
    step: int = 0
    steps: int | None = None
    tokens: int = 0
    seconds: float = 0.0
    tokens_per_second: float | None = None
    problem: str = ""
    curves: list[RunCurve] = []
    final: list[FinalFigure] = []
    adapted: AdaptedDetail | None = None
    unchanged: bool = False  # since the version that was seen: the rest is left out


@dataclass
class MetricsTail:
    """The metrics of a run, read on from where the last look ended."""

    identity: tuple[int, int] = (0, 0)  # of the file: another one is read anew
    offset: int = 0
    rest: bytes = b""  # a line that is not whole yet
    lines: list[Line] = field(default_factory=list)

    def read_on(self, place: Place) -> None:
        """Take in what is new."""
        file = own_file(place.path, METRICS, LARGEST_METRICS)
        if file is None:
            self.identity, self.offset, self.rest, self.lines = (0, 0), 0, b"", []
            return
        with file.open("rb") as metrics:
            status = file.stat()
            identity = (status.st_dev, status.st_ino)
            if identity != self.identity or status.st_size < self.offset:
                self.identity, self.offset, self.rest, self.lines = identity, 0, b"", []
            metrics.seek(self.offset)
            new = metrics.read(LARGEST_METRICS)
        self.offset += len(new)
        *whole, self.rest = (self.rest + new).split(b"\n")
        if len(self.rest) > 1 << 20:  # no line of ours
            self.rest = b""
        for row in whole:
            if len(self.lines) < MOST_LINES and (line := clean_line(row)) is not None:
                self.lines.append(line)


def clean_line(row: bytes) -> Line | None:
    """A line of metrics with a step and finite numbers by short names, and nothing else.

    >>> clean_line(b'{"step": 3, "loss": 2.5, "text": "<script>", "large": 1e999}')
    {'step': 3, 'loss': 2.5}
    """
    line = parse_json(row.decode("utf-8", "replace"))
    if not isinstance(line, dict):
        return None
    step = line.get("step")
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < LARGEST_WHOLE:
        return None
    numbers = {name: value for name, value in line.items() if name != "step" and len(name) <= LONGEST_NAME}
    kept: Line = {"step": step} | {name: value for name, value in numbers.items() if is_figure(value)}
    return kept | ({STOPPED: True} if line.get(STOPPED) is True else {})


class RunFollower:
    """Looks at a run again and again."""

    def __init__(self, place: Place) -> None:
        self.place, self.tail, self.lock = place, MetricsTail(), threading.Lock()

    def look(self, seen: str = "") -> RunDetail:
        """The run as it stands; only that it stands where it stood, if that is so."""
        place = self.place
        if not place.is_there:
            gone = "the folder is gone since the server was started"
            return RunDetail(id=place.id, name=place.name, version="vanished", state="vanished", problem=gone)
        with self.lock:
            self.tail.read_on(place)
            history = self._history()
            version = f"{self.tail.identity[1]}-{self.tail.offset}-{history.state}-{len(history.description)}"
            if version == seen:
                return RunDetail(id=place.id, name=place.name, version=version, state=history.state, unchanged=True)
            try:
                return describe_run_detail(place, history, version)
            except (ArithmeticError, LookupError, TypeError, ValueError):
                problem = "what it logged cannot be understood"
                return RunDetail(id=place.id, name=place.name, version=version, state="damaged", problem=problem)

    def _history(self) -> History:
        path, problem, foreign = self.place.path, "", False
        description: dict[str, Any] = {}
        running = is_locked(path)
        if own_file(path, DESCRIPTION) is not None:
            try:
                description = clean_description(read_description(path))
            except (BadInput, Damaged) as error:
                problem = _without_path(str(error), self.place)
            except Refused as error:
                problem, foreign = _without_path(str(error), self.place), True
            except RecursionError:
                problem = f"{DESCRIPTION} cannot be read"
        elif not running:
            problem = f"{DESCRIPTION} is not there, or leads elsewhere; the run was begun and given up"
        return History(path, description, tuple(self.tail.lines), running, problem, foreign)


def clean_description(description: dict[str, Any]) -> dict[str, Any]:
    """Of what a run says of itself, what pages show; each of the type that it should have."""
    kept: dict[str, Any] = {
        name: value[:LONGEST_NAME] for name in ("name", "kind") if isinstance(value := description.get(name), str)
    }
    if is_figure(steps := description.get("steps")) and isinstance(steps, int):
        kept["steps"] = steps
    titles = parsed(list[FigureTitle], description.get("figures"), [])
    if titles := [title for title in titles if title.name and len(title.name) <= LONGEST_NAME]:
        kept["figures"] = [vars(title) | {"title": title.title[:LONGEST_NAME]} for title in titles]
    return kept


def _without_path(line: str, place: Place) -> str:
    return line.replace(str(place.path), place.id)


def describe_run_detail(place: Place, history: History, version: str) -> RunDetail:
    """Everything that pages show of a run."""
    steps = history.step_lines
    speeds = [line["tokens_per_second"] for line in steps[-20:] if line.get("tokens_per_second")]
    return RunDetail(
        id=place.id,
        name=place.name,
        version=version,
        state=history.state,
        recipe=history.description.get("name", ""),
        kind=history.description.get("kind", ""),
        step=max((line["step"] for line in history.lines), default=0),
        steps=history.steps,
        tokens=int(steps[-1]["tokens"]) if steps else 0,
        seconds=history.seconds,
        tokens_per_second=sorted(speeds)[len(speeds) // 2] if speeds else None,
        problem=history.problem,
        curves=run_curves(history),
        final=final_figures(history),
        adapted=parsed(AdaptedDetail | None, own_json(place.path, ADAPTED), None),
    )


def run_curves(history: History) -> list[RunCurve]:
    """The figures that people look at, and those that tell how it trains."""
    titles = {title.name: title for title in history.titles}
    others = {"lr": FigureTitle("lr", "Learning rate"), "gradient_norm": FigureTitle("gradient_norm", "Gradient norm")}
    curves: list[RunCurve] = []
    for name, title in (titles | others).items():
        for prefix in ("", HELD_OUT):
            lines = [line for line in history.lines if prefix + name in line]
            if lines and len(curves) < MOST_CURVES:
                shown = thinned(lines)
                curves.append(
                    RunCurve(
                        name=name,
                        title=title.title,
                        held_out=bool(prefix),
                        percent=title.percent,
                        steps=[line["step"] for line in shown],
                        tokens=[history.tokens_at(line) for line in shown],
                        values=[line[prefix + name] for line in shown],
                    )
                )
    return curves


def thinned(lines: list[Line]) -> list[Line]:
    """So many lines as can be drawn, evenly, the first and the last among them.

    >>> [line["step"] for line in thinned([{"step": step} for step in range(1_200)])][:3]
    [0, 2, 4]
    """
    if len(lines) <= MOST_POINTS:
        return lines
    return [lines[round(place * (len(lines) - 1) / (MOST_POINTS - 1))] for place in range(MOST_POINTS)]


def final_figures(history: History) -> list[FinalFigure]:
    """What was measured in the end, with the intervals over documents that the run kept."""
    line, found = history.final_line, []
    for title in history.titles:
        value = line.get(FINAL + title.name)
        if value is None:
            continue
        low, high = (line.get(f"{INTERVAL}{title.name}_{end}") for end in ("low", "high"))
        low, high = (low, high) if None not in (low, high) else (None, None)
        found.append(
            FinalFigure(name=title.name, title=title.title, percent=title.percent, value=value, low=low, high=high)
        )
    return found
