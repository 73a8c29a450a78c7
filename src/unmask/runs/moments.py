"""The moments of a run that were kept: its checkpoints, its best, the one before the decay, and those all over it.

In: a run directory. Out: the folders of its checkpoints, each once by its step, in their order. Nothing is loaded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from unmask.runs.directory import BEST, CHECKPOINT_INDEX, CHECKPOINT_TENSORS, CHECKPOINTS, MOMENTS, STABLE

KEPT = {MOMENTS: "", STABLE: "before the decay", BEST: "the best", CHECKPOINTS: ""}  # where, and what people call it
NAME = re.compile(r"step-\d{7,15}")


@dataclass(frozen=True)
class Moment:
    """A moment of a run whose weights are there."""

    step: int
    folder: Path
    names: tuple[str, ...] = ()  # what is special about it


def checkpoint_paths(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first; what was being written when the process died is not one."""
    return sorted(path for path in folder.glob("step-*") if NAME.fullmatch(path.name))


def kept_moments(run: Path, most: int | None = None) -> list[Moment]:
    """The moments of a run, oldest first; at most so many, evenly spread, the first and the last among them.

    Of those that are to be few, what happened to be saved stands back where moments were asked for. A link that leads
    out of the run is none of them.
    """
    found: dict[int, Moment] = {}
    home = run.resolve()
    for place, name in KEPT.items():
        for folder in checkpoint_paths(run / place):
            files = [(folder / file).resolve() for file in (CHECKPOINT_INDEX, CHECKPOINT_TENSORS[0])]
            if all(file.is_file() and file.is_relative_to(home) for file in files):
                step = int(folder.name.removeprefix("step-"))
                before = found.get(step, Moment(step, folder))
                found[step] = Moment(step, before.folder, (*before.names, *([name] if name else [])))
    moments = [found[step] for step in sorted(found)]
    if most is not None and any(moment.folder.parent.name == MOMENTS for moment in moments):
        saved = [moment for moment in moments[:-1] if moment.folder.parent.name == CHECKPOINTS and not moment.names]
        moments = [moment for moment in moments if moment not in saved]
    if most is None or len(moments) <= most:
        return moments
    return [moments[round(place * (len(moments) - 1) / max(1, most - 1))] for place in range(most)]
