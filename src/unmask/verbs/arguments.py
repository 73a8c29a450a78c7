"""What callers and the command line give: paths, lines of standard input, settings that were named."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unmask.errors import BadInput

Location = str | Path


def given_settings(**settings: Any) -> dict[str, Any]:
    """The settings that were given; the others are the recipe's.

    >>> given_settings(rows=8, micro=None)
    {'rows': 8}
    """
    return {name: value for name, value in settings.items() if value is not None}


def text_of(path: Location | None) -> str | None:
    """A path as settings keep it."""
    return None if path is None else str(path)


def standard_input() -> Iterator[tuple[int, str]]:
    """The lines of standard input that are not empty, with their numbers."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise BadInput(f"line {number}: not UTF-8 at byte {error.start + 1} of the line") from error
        if text:
            yield number, text
