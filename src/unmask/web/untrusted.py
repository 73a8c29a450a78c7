"""Files of runs that came from anywhere, read as if somebody had made them to do harm.

In: a folder that is served, and the name of a file in it. Out: what it holds, or none. A link that leads out of the
folder, a file that is no file, and what is too large or nested too deeply are not read; no path that a file names is
ever followed.
"""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

LARGEST = 64 << 20  # bytes of a file that is read
LARGEST_WHOLE = 1 << 53  # number, beyond which a browser rounds


def own_file(folder: Path, name: str, largest: int = LARGEST) -> Path | None:
    """A file inside a folder, if it is one, and really there."""
    try:
        file, home = (folder / name).resolve(strict=True), folder.resolve(strict=True)
        if not file.is_relative_to(home) or not file.is_file() or file.stat().st_size > largest:
            return None
    except (OSError, RuntimeError, ValueError):
        return None
    return file


def own_text(folder: Path, name: str) -> str | None:
    """What a file says."""
    file = own_file(folder, name)
    try:
        return None if file is None else file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def own_json(folder: Path, name: str) -> Any:
    """What a file of JSON says; none where it says nothing that can be read."""
    return parse_json(own_text(folder, name) or "")


def parse_json(text: str) -> Any:
    """JSON, or none.

    >>> parse_json('{"step": 3}'), parse_json('{"step": '), parse_json("[" * 100_000)
    ({'step': 3}, None, None)
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_figure(value: object) -> bool:
    """Whether it is a number that can be shown."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < LARGEST_WHOLE if isinstance(value, int) else isfinite(value)


def parsed(kind: Any, value: Any, otherwise: Any) -> Any:
    """A value as this type, or what is to stand for it."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return otherwise
