"""A run's figures for TensorBoard: the metrics once more, as events.

In: a run directory and the lines that are logged. Out: `tensorboard/` in the run directory. The events are a copy of
`metrics.jsonl`: a run that goes on writes them anew from there, so that no step is in them twice.
"""

from __future__ import annotations

import shutil
import time
from math import isfinite
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.runs.history import read_lines

FOLDER = "tensorboard"


class Events:
    """Writes figures as TensorBoard reads them."""

    def __init__(self, run: Path, metrics: Path) -> None:
        self.folder, self.metrics = run / FOLDER, metrics
        self.writer: Any = None

    def add(self, figures: dict[str, Any]) -> None:
        """Add a line that has just been logged; the first brings all that the metrics have, itself among them."""
        if self.writer is None:
            from tensorboard.summary.writer.event_file_writer import EventFileWriter

            shutil.rmtree(self.folder, ignore_errors=True)
            self.writer = EventFileWriter(str(self.folder))
            for line in read_lines(self.metrics):
                self._write(line)
        else:
            self._write(figures)

    def _write(self, figures: dict[str, Any]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [
            Summary.Value(tag=tag(name), simple_value=value)
            for name, value in figures.items()
            if name != "step" and isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        ]
        self.writer.add_event(Event(step=figures["step"], wall_time=time.time(), summary=Summary(value=values)))

    def close(self) -> None:
        """Have everything on the disk."""
        if self.writer is not None:
            self.writer.close()


def tag(name: str) -> str:
    """What TensorBoard calls a figure: the same of training and of what is held out side by side.

    >>> tag("loss"), tag("validation_loss")
    ('loss/training', 'loss/held_out')
    """
    figure = name.removeprefix("validation_")
    return f"{figure}/{'training' if figure == name else 'held_out'}"


def check_installed() -> None:
    """Say at once what is missing, before anything is made."""
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        raise BadInput("--tensorboard needs TensorBoard: pip install 'unmask[tensorboard]'") from None
