"""Progress of long work: silent in a library call; bars on a terminal, a line now and then in a log.

Any function may say how far it is; only whoever called `show_progress` decides that somebody sees it.

    with task("Encoding", total=documents) as step:
        for batch in batches:
            step(len(batch), note=f"{tokens:,} tokens")
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

SHORT = 0.5  # seconds; what took less leaves no line behind
NOW_AND_THEN = 15.0  # seconds between two lines of a log


class Step(Protocol):
    """Says that `amount` more is done; `note` stands behind the bar, `total` corrects what is expected."""

    def __call__(self, amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
        """Say it."""


@dataclass
class ProgressBar:
    """One piece of work on somebody's screen: a bar that moves, or lines of a log."""

    title: str
    total: float | None
    bars: Progress | None  # none in a log, where bars cannot move
    console: Console
    inner: bool = False  # part of other work that is shown: it leaves no line behind
    start: float = field(default_factory=time.perf_counter)
    amount: float = 0
    note: str = ""

    def __post_init__(self) -> None:
        self.last_line = self.start
        self.bar = self.bars.add_task(self.title, total=self.total, note="") if self.bars else None

    def __call__(self, amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
        """Move the bar, or say a line when the last is long ago."""
        self.amount += amount
        self.note = self.note if note is None else note
        self.total = self.total if total is None else total
        if self.bars and self.bar is not None:
            self.bars.update(self.bar, completed=self.amount, total=self.total, note=self.note)
        elif (now := time.perf_counter()) - self.last_line >= NOW_AND_THEN:
            self.last_line = now
            share = f"{self.amount / self.total:.0%} " if self.total else ""
            self.console.print(f"{self.title} {share}{self.note}", highlight=False, soft_wrap=True)

    def end(self, success: bool) -> None:
        """Take the bar away, and leave a line behind."""
        if self.bars and self.bar is not None:
            self.bars.remove_task(self.bar)
        took = time.perf_counter() - self.start
        if success and took >= SHORT and not self.inner:
            line = f"[green]✓[/] [bold]{self.title}[/] [dim]{took:.0f} s  {self.note}[/]"
            self.console.print(line, highlight=False, soft_wrap=True)


@dataclass
class Audience:
    """Whoever is watching."""

    console: Console
    bars: Progress | None
    open: int = 0  # pieces of work that are under way
    starting: TaskID | None = None  # the bar that is there before the first of them, while libraries load

    def begin(self) -> None:
        """Something is under way, or is told: it has started."""
        if self.bars and self.starting is not None:
            self.bars.remove_task(self.starting)
            self.starting = None


_audience: ContextVar[Audience | None] = ContextVar("audience", default=None)


def _silent(amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
    """Nobody is watching."""


@contextmanager
def task(title: str, total: float | None = None) -> Iterator[Step]:
    """Work that somebody may watch, for as long as the block runs; without a total it only shows that it goes on."""
    audience = _audience.get()
    if audience is None:
        yield _silent
        return
    audience.begin()
    bar = ProgressBar(title, total, audience.bars, audience.console, inner=audience.open > 0)
    audience.open += 1
    success = False
    try:
        yield bar
        success = True
    finally:
        audience.open -= 1
        bar.end(success)


@contextmanager
def show_progress(console: Console, *, moving: bool = True) -> Iterator[None]:
    """Show every task started inside the block on this console: as bars, or as lines where nothing can move."""
    bars = _progress_bars(console) if moving and console.is_terminal else None
    if bars:
        bars.start()
    starting = bars.add_task("Starting", total=None, note="") if bars else None
    token = _audience.set(Audience(console, bars, starting=starting))
    try:
        yield
    finally:
        _audience.reset(token)
        if bars:
            bars.stop()


def _progress_bars(console: Console) -> Progress:
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("[dim]{task.fields[note]}"),
        console=console,
        transient=True,
    )


def say(line: str) -> None:
    """A line above the bars, where somebody is watching."""
    if (audience := _audience.get()) is not None:
        audience.begin()
        audience.console.print(line)


def is_watched() -> bool:
    """Whether somebody is watching."""
    return _audience.get() is not None


def console() -> Console:
    """Where to tell a story: above the bars where there are some, else on stderr."""
    from rich.console import Console

    audience = _audience.get()
    if audience is None:
        return Console(stderr=True)
    audience.begin()
    return audience.console
