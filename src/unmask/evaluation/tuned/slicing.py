"""What test examples are told apart by, beside their labels: how long they are, and fields that their file has.

In: a file of examples and the lines of those that were judged. Out: columns of `answers.jsonl`, of which
`unmask.runs.slices` makes slices.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.runs.slices import LONGEST, MOST_FIELDS, MOST_VALUES
from unmask.tasks.examples import IDS, read_records


def slice_columns(
    path: Path, lines: Sequence[int], texts: Sequence[str], *, used: Collection[str | None] = ()
) -> dict[str, list[Any]]:
    """The words of each text and, where the file has any beside those used, fields of a few short values."""
    columns: dict[str, list[Any]] = {"words": [len(text.split()) for text in texts]}
    fields = _fields(path, lines, {*used, *IDS})
    return columns | ({"fields": fields} if any(fields) else {})


def _fields(path: Path, lines: Sequence[int], used: Collection[str | None]) -> list[dict[str, str]]:
    wanted = {*lines}
    try:
        records = {line: record for line, record in read_records(path) if line in wanted}
    except BadInput:  # of another format, which has no fields
        return []
    short: dict[str, set[str]] = {}
    for record in records.values():
        for name, value in record.items():
            if name not in used and isinstance(value, str | int | bool):
                short.setdefault(name, set()).add(str(value))
    names = [
        name for name, values in short.items() if 2 <= len(values) <= MOST_VALUES and max(map(len, values)) <= LONGEST
    ][:MOST_FIELDS]
    return [
        {name: str(record[name]) for name in names if name in record} for record in (records.get(n, {}) for n in lines)
    ]
