"""What callers and the command line give: paths, settings that were named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unmask.errors import BadInput, MissingOption

Location = str | Path


def given_settings(**settings: Any) -> dict[str, Any]:
    """The settings that were given; the others are the recipe's.

    >>> given_settings(rows=8, micro=None)
    {'rows': 8}
    """
    return {name: value for name, value in settings.items() if value is not None}


def path_of(location: Location | None) -> Path | None:
    """A path, if one was given."""
    return None if location is None else Path(location)


def text_of(path: Location | None) -> str | None:
    """A path as settings keep it."""
    return None if path is None else str(path)


def run_of(
    command: str, out: Location | None, resume: Location | bool, signs: tuple[str, ...] = ("run.json",)
) -> tuple[Path, bool]:
    """The run directory of a command, and whether a run is to go on that is there, known by one of these files."""
    if not isinstance(resume, bool):
        if out is not None and Path(out) != Path(resume):
            raise BadInput(f"--resume {resume} and --out {out}: name the run once")
        return Path(resume), True
    if out is None:
        verb = command.split()[0]
        raise MissingOption(f"{verb} where? unmask {command} --out RUN names the directory of a new run")
    return Path(out), resume and any((Path(out) / sign).exists() for sign in signs)
