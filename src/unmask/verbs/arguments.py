"""What callers and the command line give: paths, settings that were named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
