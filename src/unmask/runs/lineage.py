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
        run = _run_of(model)
        try:
            places = read_description(run)["places"]
        except (UnmaskError, OSError, KeyError):
            return
        yield from (TextRead(run, name, Path(places[name])) for name in READ if name in places)
        if "model" not in places:
            return
        model = Path(places["model"])


def read_other_data(model: Path, fingerprint: str) -> bool | None:
    """Whether a model was trained on anything but the data of a fingerprint; none where that is not known."""
    other = False
    for _ in range(LONGEST):
        try:
            description = read_description(_run_of(model))
            places = description["places"]
        except (UnmaskError, OSError, KeyError):
            return other or None
        other |= description.get("data") != fingerprint or any(name in places for name in READ if name != "data")
        if "model" not in places:
            return other
        model = Path(places["model"])
    return other or None


def _run_of(model: Path) -> Path:
    """The run that a model directory belongs to, or the directory itself."""
    place = model.resolve()
    return place.parent if (place.parent / DESCRIPTION).is_file() else place
