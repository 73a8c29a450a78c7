"""Progress of long work: silent in a library call, a bar on stderr when a terminal shows it.

Any function may say how far it is; only whoever called `shown` decides that somebody sees it.

    with task("Encoding", total=documents) as step:
        for batch in batches:
            step(len(batch), note=f"{tokens:,} tokens")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_display: ContextVar[Progress | None] = ContextVar("display", default=None)


class Step(Protocol):
    """Says that `amount` more is done; `note` stands behind the bar, `total` corrects what is expected."""

    def __call__(self, amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
        """Say it."""


def _silent(amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
    """Nobody is watching."""


@contextmanager
def task(title: str, total: float | None = None) -> Iterator[Step]:
    """One bar, for as long as the block runs; without a total it only shows that work goes on."""
    display = _display.get()
    if display is None:
        yield _silent
        return
    bar = display.add_task(title, total=total, note="")

    def step(amount: float = 0, *, note: str | None = None, total: float | None = None) -> None:
        if total is not None:
            display.update(bar, total=total)
        if note is not None:
            display.update(bar, note=note)
        display.advance(bar, amount)

    try:
        yield step
    finally:
        display.stop_task(bar)


@contextmanager
def shown(console: Console) -> Iterator[None]:
    """Show every task started inside the block on this console."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("[bold]{task.description:<12}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
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
