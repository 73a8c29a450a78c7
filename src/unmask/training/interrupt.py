"""Ctrl-C and SIGTERM: remembered when they come, acted on when the work is at a safe place.

A step is finished and saved before the process ends; a second Ctrl-C ends it at once. Before the first step and after
the last there is nothing to lose, and the first one does.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from unmask.errors import Interrupted, Terminated, UnmaskError
from unmask.progress import say

KINDS: dict[int, type[UnmaskError]] = {signal.SIGINT: Interrupted, signal.SIGTERM: Terminated}


class Interruption:
    """Whether somebody asked to stop."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.line: str | None = None  # what to say where nothing has to be brought to an end first

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Remember a signal; at the second one do not wait."""
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        if self.line is not None:
            raise self.error(self.line)
        say("[yellow]stopping after this step; once more to stop at once[/]")

    @contextmanager
    def at_once(self, line: str) -> Iterator[None]:
        """Inside the block a signal ends the command where it comes, with this line."""
        if self.pending:
            raise self.error(line)
        self.line = line
        try:
            yield
        finally:
            self.line = None

    @property
    def pending(self) -> bool:
        """Whether a signal has come."""
        return self.signal is not None

    def error(self, line: str) -> UnmaskError:
        """The error that ends the command, with the exit code of the signal; another process may have heard it."""
        return KINDS[self.signal or signal.SIGTERM](line)


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Listen to Ctrl-C and SIGTERM inside the block; in a thread, where Python cannot, hear nothing."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = {number: signal.signal(number, interruption.handle) for number in KINDS}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
