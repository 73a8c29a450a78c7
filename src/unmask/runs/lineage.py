"""What a model has read: its own run, the run that one started from, and so on back to the first.

In: a model directory. Out: the places of the texts of all those runs, as far as their descriptions say.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from unmask.errors import UnmaskError
from unmask.runs.directory import DESCRIPTION, read_description

READ = ("data", "replay", "task_data", "train")  # places of a run that a model learns from
LONGEST = 20  # runs, one after the other


class TextRead(NamedTuple):
    """Text that a model was trained on."""

    run: Path
    name: str  # what the run calls it: data, train
    path: Path  # where it was; it may be gone


def texts_read(model: Path) -> Iterator[TextRead]:
    """The text of every run that a model comes from, the latest first; nothing of a model that no run made."""
    for _ in range(LONGEST):
        run = model.resolve().parent if (model.resolve().parent / DESCRIPTION).is_file() else model.resolve()
        try:
            places = read_description(run)["places"]
        except (UnmaskError, OSError, KeyError):
            return
        yield from (TextRead(run, name, Path(places[name])) for name in READ if name in places)
        if "model" not in places:
            return
        model = Path(places["model"])
