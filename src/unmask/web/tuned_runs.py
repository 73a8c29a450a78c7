"""What came of tunings, for the view that shows it.

In: a place that is a tuned run. Out: `TunedDetail`. Every file is taken as hostile, as those of other runs are.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from unmask.results import Confusion, Figure, JudgedLabel, SureError
from unmask.runs.slices import ANSWERS, Slice, slices_of
from unmask.runs.tuned_report import RESULT
from unmask.web.places import Place
from unmask.web.untrusted import is_figure, own_json, own_text, parse_json, parsed

MOST_ANSWERS = 20_000


class NamedFigure(BaseModel):
    """A figure of a tuned model, and the same of baselines."""

    name: str
    value: Figure
    baselines: dict[str, Figure]


class TunedDetail(BaseModel):
    """What came of a tuning."""

    id: str
    name: str
    task: str
    labels: list[str]
    examples: int
    problem: str = ""
    figures: list[NamedFigure] = []
    confusions: list[Confusion] = []
    label_figures: list[JudgedLabel] = []
    errors: list[SureError] = []
    calibration_error: float | None = None
    slices: list[Slice] = []  # by length, by windows, by fields of the test data
    answers: list[tuple[float, bool]] = []  # of each test example: how sure, and whether it was right


def describe_tuned(place: Place) -> TunedDetail:
    """What came of the tuning in a place."""
    result = own_json(place.path, RESULT)
    result = result if isinstance(result, dict) else {}
    judged: dict[str, Any] = next(
        (result[name] for name in ("test", "folds") if isinstance(result.get(name), dict)), {}
    )
    task = parsed(str, result.get("task"), "")
    problem, answers = "", read_judged(place)
    if not result:
        problem = "nothing was judged here yet: tuned.json is not there, or not whole"
    elif not judged:
        problem = "it was tuned without --test: there are no test examples that it was judged on"
    return TunedDetail(
        id=place.id,
        name=place.name,
        task=task,
        labels=parsed(list[str], result.get("labels"), []),
        examples=parsed(int, judged.get("examples"), 0),
        problem=problem,
        figures=named_figures(judged),
        confusions=parsed(list[Confusion], judged.get("confusions"), []),
        label_figures=parsed(list[JudgedLabel], judged.get("labels"), []),
        errors=parsed(list[SureError], judged.get("errors"), []),
        calibration_error=parsed(float | None, judged.get("calibration_error"), None),
        slices=slices_of(answers),
        answers=judged_answers(answers),
    )


def named_figures(judged: dict[str, Any]) -> list[NamedFigure]:
    """Every figure with an interval, and what baselines come to."""
    baselines = [each for each in parsed(list[dict[str, Any]], judged.get("baselines"), []) if "name" in each]
    found = []
    for name, value in judged.items():
        figure = parsed(Figure, value, None) if isinstance(value, dict) else None
        if figure is not None:
            others = {str(each["name"]): parsed(Figure, each.get(name), None) for each in baselines}
            found.append(
                NamedFigure(name=name, value=figure, baselines={key: each for key, each in others.items() if each})
            )
    return found


def read_judged(place: Place) -> list[dict[str, Any]]:
    """What was said of each test example."""
    rows = map(parse_json, (own_text(place.path, ANSWERS) or "").splitlines()[:MOST_ANSWERS])
    return [row for row in rows if isinstance(row, dict)]


def judged_answers(rows: list[dict[str, Any]]) -> list[tuple[float, bool]]:
    """How sure it was of each test example, and whether it was right."""
    pairs = [(row.get("probability"), row.get("score")) for row in rows]
    return [
        (float(sure), bool(right))
        for sure, right in pairs
        if is_figure(sure) and isinstance(sure, float) and 0 <= sure <= 1 and right in (0.0, 1.0)
    ]
