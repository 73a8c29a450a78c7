"""Following a run that another process trains, and finding runs.

In: a run directory, or folders with runs somewhere below. Out: where they stand; while a run goes on, a panel that
moves on a terminal, and a line for each new validation in a log.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from unmask import progress
from unmask.console.dashboard import panel, validation_line
from unmask.errors import BadInput, Interrupted
from unmask.results import Listed, Watched
from unmask.runs.history import find_runs, read_history, summarize

PATIENCE = 1.0  # seconds between two looks


class Show(Protocol):
    """Tells somebody where the run stands now."""

    def __call__(self, now: Watched) -> None:
        """Tell it."""


def list_runs(folders: Iterable[Path]) -> Listed:
    """Every run below these folders, the last active first."""
    folders = tuple(folders)
    with progress.task("Looking for runs") as step:
        found = []
        for path in find_runs(folders):
            with suppress(BadInput):  # it has only begun, and was given up since it was found
                found.append(summarize(read_history(path)))
            step(1, note=f"{len(found)} found")
    return Listed(folders=folders, runs=tuple(sorted(found, key=lambda run: run.age)))


def watch(path: Path, *, once: bool = False, seconds: float = PATIENCE) -> Watched:
    """Follow a run until its process ends, and say how it stands then; `once` looks and leaves."""
    if not path.is_dir():
        raise BadInput(f"{path}: is not a directory; name a run")
    if not seconds > 0:
        raise BadInput(f"--seconds {seconds}: give a number above 0")
    now = summarize(read_history(path))
    if once or now.state != "running":
        return now
    try:
        with _shown() as show:
            while now.state == "running":
                show(now)
                time.sleep(seconds)
                now = summarize(read_history(path))
            show(now)
    except KeyboardInterrupt:
        raise Interrupted(f"no longer watching {path}; the run goes on") from None
    return now


@contextmanager
def _shown() -> Iterator[Show]:
    """A panel on a terminal, lines in a log, nothing in a library call."""
    if not progress.watched():
        yield lambda now: None
        return
    console = progress.console()
    if not console.is_terminal:
        yield Lines()
        return
    from rich.live import Live

    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield lambda now: live.update(panel(now), refresh=True)


class Lines:
    """A line for each validation that was not there before."""

    def __init__(self) -> None:
        self.told = 0

    def __call__(self, now: Watched) -> None:
        """Say what is new."""
        for each in now.validations[self.told :]:
            progress.console().print(validation_line(now, each), soft_wrap=True)
        self.told = len(now.validations)
