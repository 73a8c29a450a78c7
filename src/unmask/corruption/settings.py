"""A setting of a policy as a person writes it: `p=0.5`, `rolled=false`, `weights=1/3`.

In: its text and its usual value, which says what kind it is. Out: its value, and the text again.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

from unmask.errors import BadInput
from unmask.stages import spell_number

NO_USUAL = inspect.Parameter.empty  # of a setting that has to be given


def parse_setting(key: str, text: str, usual: Any) -> Any:
    """A setting, of the same kind as its usual value; without one, what it looks like.

    >>> parse_setting("p", "0.5", 0.2), parse_setting("weights", "1/3", None), parse_setting("stop", "17", NO_USUAL)
    (0.5, [1.0, 3.0], 17)
    """
    if usual is NO_USUAL:
        return _looks_like(text)
    if isinstance(usual, str):
        return text
    if isinstance(usual, bool):
        if text not in ("true", "false"):
            raise BadInput(f"setting {key}={text}: give true or false")
        return text == "true"
    try:
        numbers = [int(number) if isinstance(usual, int) else float(number) for number in text.split("/")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)) or (usual is not None and len(numbers) > 1):
        raise BadInput(
            f"setting {key}={text}: give a number" + (", or several with / between" if usual is None else "")
        )
    return numbers if usual is None else numbers[0]


def _looks_like(text: str) -> Any:
    """A whole number, a number, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def spell_setting(value: Any) -> str:
    """A setting as `parse_setting` reads it.

    >>> spell_setting(False), spell_setting([1.0, 3.0]), spell_setting(0.5)
    ('false', '1/3', '0.5')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "/".join(map(spell_number, value)) if isinstance(value, list | tuple) else f"{value}"
