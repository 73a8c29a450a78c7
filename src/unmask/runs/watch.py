"""Following a run that another process trains, and finding runs.

In: a run directory, or folders with runs somewhere below. Out: where they stand; while a run goes on, whoever calls
is told so at each look, and shows it or not (`unmask.console.live` does).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from unmask import progress
from unmask.errors import BadInput, Interrupted
from unmask.results import RunList, RunStatus
from unmask.runs.history import find_runs, read_history, summarize_run

PATIENCE = 1.0  # seconds between two looks


Show = Callable[[RunStatus], None]  # tells somebody where the run stands now


@contextmanager
def no_display() -> Iterator[Show]:
    """What a library call shows: nothing."""
    yield lambda status: None


def list_runs(folders: Iterable[Path]) -> RunList:
    """Every run below these folders, the last active first."""
    folders = tuple(folders)
    with progress.task("Looking for runs") as step:
        statuses = []
        for path in find_runs(folders):
            with suppress(BadInput):  # it has only begun, and was given up since it was found
                statuses.append(summarize_run(read_history(path)))
            step(1, note=f"{len(statuses)} found")
    return RunList(folders=folders, runs=tuple(sorted(statuses, key=lambda run: run.age)))


def watch_run(
    path: Path,
    *,
    once: bool = False,
    seconds: float = PATIENCE,
    display: Callable[[], AbstractContextManager[Show]] = no_display,
) -> RunStatus:
    """Follow a run until its process ends, and say how it stands then; `once` looks and leaves."""
    if not path.is_dir():
        raise BadInput(f"{path}: is not a directory; name a run")
    if not seconds > 0:
        raise BadInput(f"--seconds {seconds}: give a number above 0")
    status = summarize_run(read_history(path))
    if once or status.state != "running":
        return status
    try:
        with display() as show:
            while status.state == "running":
                show(status)
                time.sleep(seconds)
                status = summarize_run(read_history(path))
            show(status)
    except KeyboardInterrupt:
        raise Interrupted(f"no longer watching {path}; the run goes on") from None
    return status
