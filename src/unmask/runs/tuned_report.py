"""What came of a tuning, as sections of the run's page: figures beside baselines, labels, confusions, errors, leaks.

In: `tuned.json` of a run. Out: HTML without scripts. Any task is shown by the shape of what was judged: a figure is a
value with its interval, a baseline has the same figures as the model; everything from data is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from unmask.runs.page import html_figures
from unmask.runs.slices import run_slices, slice_titles

RESULT = "tuned.json"
MOST_LABELS = 30  # that a matrix of confusions is drawn for
CELL = 34  # its width and height
INK = "#3b6fb6"
CLEAN = "clean_"  # figures of what did not leak
UNKNOWN = "not known here: what the model read before cannot be looked into"

Values = Mapping[str, Any]


def tuned_sections(run: Path) -> str:
    """The sections of a run that was tuned and judged; nothing of any other."""
    sections = _sections(run, _read_tuned(run))
    return "".join(f"<section><h2>{escape(title)}</h2>{body}</section>" for title, body in sections)


def judged_figures(run: Path) -> Iterator[tuple[str, str]]:
    """What the page of a tuned run heads with: what it is worth on examples that nothing was chosen by."""
    tuned = _read_tuned(run)
    for name, where in (("test", "on test examples"), ("folds", "by folds")):
        judged = tuned.get(name)
        if isinstance(judged, dict):
            headline = headline_name(judged)
            if headline is not None:
                value, _, interval = _spelt(judged[headline]).partition(" ")
                yield value, f"{headline.replace('_', ' ')} {where} {interval}".rstrip()


def headline_name(judged: Values) -> str | None:
    """The figure that dev chooses by: the one that says so, or else the first, of everything that was judged."""
    names = [name for name in _figure_names(judged) if not name.startswith(CLEAN)]
    return judged["chosen_by"] if judged.get("chosen_by") in names else next(iter(names), None)


def _figure_names(judged: Values) -> list[str]:
    """Figures with intervals; those without what leaked come last."""
    return sorted(
        (name for name, value in judged.items() if _is_figure(value)), key=lambda name: name.startswith(CLEAN)
    )


def _read_tuned(run: Path) -> Values:
    """What came of a tuning; nothing where nothing was judged."""
    try:
        tuned = json.loads((run / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return tuned if isinstance(tuned, dict) else {}


def _sections(run: Path, tuned: Values) -> Iterator[tuple[str, str]]:
    for name, title in (("test", "On test examples, beside baselines"), ("folds", "By folds, beside baselines")):
        judged = tuned.get(name)
        if isinstance(judged, dict):
            yield title, _figures_table(judged)
            yield from _details(judged)
    for by, slices in slice_titles(run_slices(run)):
        yield f"Slices by {by}", _table(("name", "examples", "score", "low", "high"), [vars(each) for each in slices])
    if trials := tuned.get("trials"):
        yield "Trials", _table(("name", "lr", "seed", "dev", "test"), trials)
    if spread := tuned.get("spread"):
        yield "Over seeds, on test", _table(("seeds", "mean", "deviation", "least", "most"), [spread])
    if overlaps := tuned.get("overlaps"):
        columns = ("part", "source", "path", "texts", "exact", "near", "runs", "touched")
        rows = [each if each.get("known") else {"part": each["part"], "source": UNKNOWN} for each in overlaps]
        yield "What was seen before", _table(columns, rows)
    if facts := [row for row in _facts(tuned) if row["value"] is not None]:
        yield "What to know of these figures", _table(("what", "value"), facts)


def _facts(tuned: Values) -> Iterator[Values]:
    """What is no figure with an interval."""
    judged = tuned.get("test") or tuned.get("folds") or {}
    yield {"what": "other models that were measured on this test set before", "value": tuned.get("measured_before")}
    yield {"what": "examples that leaked", "value": judged.get("leaked")}
    yield {"what": "examples without text, left out", "value": judged.get("empty")}
    yield {"what": "how far sureness is from being right, on average", "value": judged.get("calibration_error")}
    yield {"what": "temperature, chosen on dev", "value": tuned.get("temperature")}
    yield {"what": "labels in a set", "value": judged.get("set_size")}


def _details(judged: Values) -> Iterator[tuple[str, str]]:
    if labels := judged.get("labels"):
        yield "Labels", _table(tuple(labels[0]), labels)
    if (confusions := judged.get("confusions")) and (names := _names(confusions)) and len(names) <= MOST_LABELS:
        yield "Confusions: the label down, what was said across", _matrix(names, confusions)
    if errors := judged.get("errors"):
        yield "The surest errors, to be read", _table(tuple(errors[0]), errors)
    if doubtful := judged.get("doubtful"):
        yield "Labels that may be wrong, to be read", _table(tuple(doubtful[0]), doubtful)


def _is_figure(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"value", "low", "high"}


def _figures_table(judged: Values) -> str:
    """The model and its baselines, a column for each figure that has an interval."""
    names = _figure_names(judged)
    rows = [("this model", judged), *((str(each.get("name")), each) for each in judged.get("baselines") or ())]
    heads = ["", *(name.replace("_", " ") for name in names)]
    return html_figures(heads, [[name, *(_spelt(values.get(figure)) for figure in names)] for name, values in rows])


def _table(columns: Sequence[str], rows: Sequence[Values]) -> str:
    heads = [name.replace("_", " ") for name in columns]
    return html_figures(heads, [[_spelt(row.get(name)) for name in columns] for row in rows])


def _spelt(value: Any) -> str:
    if _is_figure(value):
        middle = "–" if value["value"] is None else f"{value['value']:.3f}"
        return middle if value["low"] is None else f"{middle} ({value['low']:.3f}–{value['high']:.3f})"
    if isinstance(value, list):
        return ", ".join(map(_spelt, value))
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 0.01 and value else f"{value:.3f}"
    return "" if value is None else str(value)


def _names(confusions: Sequence[Values]) -> list[str]:
    return sorted({str(each[side]) for each in confusions for side in ("true", "said")})


def _matrix(names: Sequence[str], confusions: Sequence[Values]) -> str:
    """A picture of how often each label was taken for each, dark where often; the numbers stand in it."""
    counts = {(str(each["true"]), str(each["said"])): int(each["count"]) for each in confusions}
    totals = {name: sum(counts.get((name, said), 0) for said in names) or 1 for name in names}
    left = 12 + 7 * min(24, max(map(len, names)))
    size = left + CELL * len(names) + 8
    parts = [
        f'<svg viewBox="0 0 {size} {size}" role="img" aria-label="confusion matrix" style="max-width:{size}px" '
        'font-family="system-ui" font-size="12">'
    ]
    for row, true in enumerate(names):
        middle = left + CELL * row + CELL / 2
        name = escape(true if len(true) <= 24 else f"{true[:23]}…")
        parts.append(f'<text x="{left - 6}" y="{middle + 4}" text-anchor="end">{name}</text>')
        parts.append(f'<text transform="translate({middle + 4} {left - 6}) rotate(-90)">{name}</text>')
        for column, said in enumerate(names):
            count = counts.get((true, said), 0)
            share = count / totals[true]
            x, y = left + CELL * column, left + CELL * row
            ink = "#fff" if share > 0.5 else "#1f2933"
            parts.append(
                f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" fill="{INK}" fill-opacity="{share:.3f}" '
                f'stroke="#e4e7eb"><title>{escape(true)} said to be {escape(said)}: {count}</title></rect>'
            )
            if count:
                place = f'x="{x + CELL / 2}" y="{y + CELL / 2 + 4}"'
                parts.append(f'<text {place} text-anchor="middle" fill="{ink}">{count}</text>')
    return "".join((*parts, "</svg>"))
