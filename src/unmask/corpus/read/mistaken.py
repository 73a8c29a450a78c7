"""What is probably meant by an argument that is no text: one line that names the nearest thing that works.

In: an argument of `unmask prepare`. Out: what is wrong with it and what to give instead.
"""

from __future__ import annotations

import re
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
