"""Results as JSON has them."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any


def to_plain(value: Any) -> Any:
    """A value as JSON has it: paths are strings, and a number that is not finite is null."""
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def to_json(result: Any) -> str:
    """A result as one line of JSON; paths are strings, and a number that is not finite is null."""
    return json.dumps(to_plain(asdict(result)), ensure_ascii=False, allow_nan=False)
