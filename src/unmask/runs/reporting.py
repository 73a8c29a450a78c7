"""When a run is told of besides its metrics: its report while it goes on and however it ends, and its events.

In: a run and a few facts of what is trained in it. Out: the same run, whose lines TensorBoard gets too if that is
asked, and a report that is written now and then. Nothing here changes what is trained, or stops it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.markup import escape

from unmask.progress import say
from unmask.runs.directory import Run
from unmask.runs.report import write_report

SELDOM = 60.0  # seconds between two reports of a run that goes on: drawing one takes about a second


@dataclass
class Reporter:
    """Writes the report of a run."""

    path: Path
    facts: Mapping[str, str]
    enabled: bool = True
    seldom: float = SELDOM
    write_time: float = field(default_factory=time.monotonic)

    def write_if_due(self) -> None:
        """Write it if the last is long ago."""
        if time.monotonic() - self.write_time >= self.seldom:
            self.write(going_on=True)

    def write(self, *, going_on: bool) -> None:
        """Write it, or say in a line why not: a picture is never worth a run."""
        if not self.enabled:
            return
        self.write_time = time.monotonic()
        try:
            write_report(self.path, self.facts, going_on=going_on)
        except Exception as error:
            say(f"[yellow]no report:[/] {escape(f'{type(error).__name__}: {error}')}")


@contextmanager
def open_reporter(
    run: Run, facts: Mapping[str, str], *, report: bool = True, tensorboard: bool = False
) -> Iterator[tuple[Run, Reporter]]:
    """The run with its events and its report, both up to date however the block ends."""
    reporter = Reporter(run.path, facts, report)
    events = None
    if tensorboard:
        from unmask.runs.tensorboard import Events  # TensorBoard is an extra

        events = Events(run.path, run.metrics)
    try:
        yield replace(run, also=events.add if events else None), reporter
    finally:
        if events:
            events.close()
        reporter.write(going_on=False)
