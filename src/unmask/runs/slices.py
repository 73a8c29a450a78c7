"""How often a tuned model is right, slice by slice: short and long texts, one window and several, a field of the data.

In: what it said of each test example (`answers.jsonl`). Out: `Slice`s, those by one thing together. An example that
does not say which slice it is in, in none; what does not part the examples is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

ANSWERS = "answers.jsonl"
LENGTHS = (8, 16, 32, 64, 128, 256)  # words, at the most, of a slice
MOST_VALUES, MOST_FIELDS = 12, 8
LONGEST = 40  # characters of a value
LARGEST = 1 << 53  # of a number that is whole

Answer = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Some of the examples, and how well they were answered."""

    by: str  # words, windows, or the name of a field
    name: str
    examples: int
    score: float  # the mean of what each adds to the figure that counts: where that is right or wrong, the share right
    low: float | None = None  # 95 %, of a share
    high: float | None = None


def slices_of(answers: Sequence[Answer]) -> list[Slice]:
    """Every way of parting the examples into two or more."""
    scored = [answer for answer in answers if _is_number(answer.get("score"))]
    lengths = [_up_to(number) for number in range(len(LENGTHS) + 1)]
    found = _parted("words", [(_length(answer), answer) for answer in scored], lengths)
    found += _parted("windows", [(_windows(answer), answer) for answer in scored], ["1", "2", "3 or more"])
    for field in _field_names(scored)[:MOST_FIELDS]:
        values = [(_value(answer, field), answer) for answer in scored]
        names = sorted({name for name, _ in values if name is not None})
        found += _parted(field, values, names) if len(names) <= MOST_VALUES else []
    return found


def run_slices(run: Path) -> list[Slice]:
    """The slices of a run of ours; none where it was not judged."""
    try:
        lines = (run / ANSWERS).read_text(encoding="utf-8").splitlines()
        return slices_of([row for row in map(json.loads, lines) if isinstance(row, dict)])
    except (OSError, ValueError):
        return []


def wilson(share: float, count: float) -> tuple[float, float]:
    """The 95 % interval of a share of so many (Wilson 1927).

    >>> tuple(round(bound, 3) for bound in wilson(0.5, 100))
    (0.404, 0.596)
    """
    z = 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5
    return middle - half, middle + half


def _parted(by: str, named: Sequence[tuple[str | None, Answer]], names: Sequence[str]) -> list[Slice]:
    slices = []
    for name in names:
        scores = [float(answer["score"]) for each, answer in named if each == name]
        if scores:
            mean = sum(scores) / len(scores)
            is_share = all(score in (0.0, 1.0) for score in scores)
            low, high = wilson(mean, len(scores)) if is_share else (None, None)
            slices.append(Slice(by=by, name=name, examples=len(scores), score=mean, low=low, high=high))
    return slices if len(slices) > 1 else []


def _field_names(answers: Sequence[Answer]) -> list[str]:
    names: dict[str, None] = {}
    for answer in answers:
        fields = answer.get("fields")
        if isinstance(fields, dict):
            names |= dict.fromkeys(name for name in fields if len(name) <= LONGEST)
    return [*names]


def _value(answer: Answer, field: str) -> str | None:
    fields = answer.get("fields")
    value = fields.get(field) if isinstance(fields, dict) else None
    return None if value is None or isinstance(value, dict | list) else str(value)[:LONGEST]


def _length(answer: Answer) -> str | None:
    words = answer.get("words")
    if not isinstance(words, int) or isinstance(words, bool):
        return None
    return _up_to(sum(words > most for most in LENGTHS))


def _up_to(number: int) -> str:
    """What a slice by words is called.

    >>> [_up_to(number) for number in (0, 1, 6)]
    ['up to 8', '9 to 16', 'more than 256']
    """
    if number == len(LENGTHS):
        return f"more than {LENGTHS[-1]}"
    return f"{LENGTHS[number - 1] + 1} to {LENGTHS[number]}" if number else f"up to {LENGTHS[0]}"


def _windows(answer: Answer) -> str | None:
    windows = answer.get("windows")
    if not isinstance(windows, int) or isinstance(windows, bool) or windows < 1:
        return None
    return str(windows) if windows < 3 else "3 or more"


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < LARGEST if isinstance(value, int) else isfinite(value)


def slice_titles(slices: Sequence[Slice]) -> Iterator[tuple[str, list[Slice]]]:
    """The slices by one thing together, under its name."""
    for by in dict.fromkeys(each.by for each in slices):
        yield by, [each for each in slices if each.by == by]
