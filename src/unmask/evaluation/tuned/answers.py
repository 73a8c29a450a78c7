"""What a tuned model said of each test example, kept with its run: by it two runs are compared, example by example.

In: columns of values, one for each example; `score` is what the example adds to the figure that counts. Out:
`answers.jsonl` in the run directory, a line for each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Damaged
from unmask.files import write_text
from unmask.runs.slices import ANSWERS

Answer = dict[str, Any]


def write_answers(run: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write a line for each example."""
    rows = zip(*columns.values(), strict=True)
    lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    write_text(run / ANSWERS, "".join(lines))


def read_answers(run: Path) -> list[Answer]:
    """The answers of a run that was judged."""
    file = run / ANSWERS
    if not file.is_file():
        raise BadInput(f"{run}: has no {ANSWERS}; a tuned run has one where it was given --test")
    try:
        answers = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if not all({"line", "score"} <= answer.keys() for answer in answers):
            raise ValueError("a line without its number or its score")
    except (ValueError, AttributeError) as error:
        raise Damaged(f"{file}: cannot be read ({error}); give --test again with --resume") from error
    return answers
