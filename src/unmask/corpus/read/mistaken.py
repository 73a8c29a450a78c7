"""What is probably meant by an argument that is no text: one line that names the nearest thing that works.

In: an argument of `unmask prepare`. Out: what is wrong with it and what to give instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from unmask.runs.commands import train_command
from unmask.runs.directory import DESCRIPTION, METRICS

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # as a path, it has lost one of its slashes


def is_address(argument: str) -> bool:
    """Whether an argument is the address of something elsewhere.

    >>> is_address("https:/example.org/a.txt"), is_address("C:/texts"), is_address("texts")
    (True, False, False)
    """
    return ADDRESS.match(argument) is not None


def work_of_unmask(folder: Path) -> str | None:
    """What a folder is that unmask has made, and that is no text to read."""
    if (folder / "manifest.json").is_file() and (folder / "documents").is_dir() and (folder / "tokenizer").is_dir():
        return "data directory"
    if (folder / DESCRIPTION).is_file() and (folder / METRICS).is_file():
        return "run"
    return "model" if (folder / "config.json").is_file() and (folder / "model.safetensors").is_file() else None


def use_of_work(folder: str, kind: str) -> str:
    """What one does with such a folder instead of preparing it."""
    if kind == "data directory":
        return (
            f"{folder}: is a data directory already: {train_command(folder)} trains on it; "
            f"to prepare its text again, name {folder}/documents"
        )
    return f"{folder}: is a {kind}, not text: unmask fill {folder} uses it"


def nearest_path(argument: str, also: Iterable[str] = ()) -> str | None:
    """A path that is there and is spelled nearly like the argument; a folder with a slash behind it.

    The first part of the path that is not there is looked for among its siblings, whatever their case.
    """
    path = Path(argument)
    missing = next((part for part in reversed((path, *path.parents)) if not part.exists()), None)
    if missing is None or not missing.parent.is_dir():
        return None
    try:
        siblings = {entry.name.lower(): entry.name for entry in missing.parent.iterdir() if not _hidden(entry)}
    except OSError:
        return None
    siblings |= {name: name for name in also} if path.name == argument else {}
    matches = get_close_matches(missing.name.lower(), siblings, n=1)
    if not matches:
        return None
    sibling = missing.with_name(siblings[matches[0]])
    whole = sibling / path.relative_to(missing)
    nearest = whole if whole.exists() else sibling
    return f"{nearest}/" if nearest.is_dir() else str(nearest)


def _hidden(path: Path) -> bool:
    return path.name.startswith(".")
