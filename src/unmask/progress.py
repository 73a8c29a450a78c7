"""Progress of long work: silent in a library call, a bar on stderr when a terminal shows it.

Any function may say how far it is; only whoever called `shown` decides that somebody sees it.

    with task("Encoding", total=documents) as step:
        for batch in batches:
            step(len(batch), note=f"{tokens:,} tokens")
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

SHORT = 0.5  # seconds; what took less leaves no line behind

_display: ContextVar[Progress | None] = ContextVar("display", default=None)


class Step(Protocol):
    """Says that `amount` more is done; `note` stands behind the bar, `total` corrects what is expected."""

    def __call__(self, amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
        """Say it."""


def _silent(amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
    """Nobody is watching."""


@contextmanager
def task(title: str, total: float | None = None) -> Iterator[Step]:
    """One bar, for as long as the block runs, then a line; without a total it only shows that work goes on."""
    display = _display.get()
    if display is None:
        yield _silent
        return
    bar = display.add_task(title, total=total, note="")
    begun = time.perf_counter()
    latest = ""

    def step(amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
        nonlocal latest
        if total is not None:
            display.update(bar, total=total)
        if note is not None:
            latest = note
            display.update(bar, note=note)
        display.advance(bar, amount)

    try:
        yield step
    finally:
        display.remove_task(bar)
    took = time.perf_counter() - begun
    if took >= SHORT:
        display.console.print(f"[green]✓[/] [bold]{title}[/] [dim]{took:.0f} s  {latest}[/]", highlight=False)


@contextmanager
def shown(console: Console) -> Iterator[None]:
    """Show every task started inside the block on this console."""
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as display:
        token = _display.set(display)
        try:
            yield
        finally:
            _display.reset(token)


def say(line: str) -> None:
    """A line above the bars, where somebody is watching."""
    if (display := _display.get()) is not None:
        display.console.print(line)


def console() -> Console:
    """Where to tell a story: above the bars where there are some, else on stderr."""
    from rich.console import Console

    display = _display.get()
    return Console(stderr=True) if display is None else display.console
