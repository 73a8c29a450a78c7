"""A run while it goes on: a panel that moves on a terminal, a line for each new validation in a log.

In: where a run stands, at each look. Out: what `unmask watch` shows on stderr; nothing in a library call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from unmask import progress
from unmask.console.runs import draw_panel, final_line, validation_line
from unmask.results import RunStatus
from unmask.runs.watch import Show, no_display


@contextmanager
def live_display() -> Iterator[Show]:
    """Show a run for as long as the block runs, in the way that this audience can see."""
    if not progress.is_watched():
        with no_display() as show:
            yield show
        return
    console = progress.console()
    if not console.is_terminal:
        yield Lines()
        return
    from rich.live import Live

    with Live(console=console, transient=True, auto_refresh=False) as screen:
        yield lambda status: screen.update(draw_panel(status), refresh=True)


class Lines:
    """A line for each validation that was not there before."""

    def __init__(self) -> None:
        self.count = 0
        self.ended = False

    def __call__(self, status: RunStatus) -> None:
        """Say what is new."""
        for validation in status.validations[self.count :]:
            progress.console().print(validation_line(status, validation), soft_wrap=True)
        self.count = len(status.validations)
        if status.final and not self.ended:
            progress.console().print(final_line(status, status.final), soft_wrap=True)
            self.ended = True
