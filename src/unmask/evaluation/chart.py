"""A comparison as one picture: a panel for each figure, a row for each recipe or model, with its interval.

In: a `Comparison`. Out: a PNG. Drawn without a display.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, MaxNLocator

from unmask.results import Comparison, Figure
from unmask.runs.plot import FAINT, HELD_OUT_COLOUR, STYLE, TRAINING_COLOUR

MEASURES = {"classification": "accuracy", "tagging": "F1"}
ACROSS = 3  # panels side by side
NAME_WIDTH, TITLE_WIDTH = 26, 33  # characters on a line


@dataclass(frozen=True)
class ComparisonPanel:
    """One figure of every recipe that has it."""

    title: str
    values: dict[str, Figure]
    before: dict[str, float]  # untrained
    baseline: float | None = None  # what needs no model
    percent: bool = False
    bounds: frozenset[str] = frozenset()  # whose value is one from above


def chart_panels(comparison: Comparison) -> Iterator[ComparisonPanel]:
    """Every panel that has something to show."""
    runs = comparison.runs
    for title, name, percent in (
        ("Masked loss, nats a hidden token", "masked_loss", False),
        ("Masked accuracy", "masked_accuracy", True),
        ("Hidden tokens, bits per byte", "hidden_bits_per_byte", False),
        ("Text, bits per byte", "text_bits_per_byte", False),
    ):
        if name.startswith("hidden") and all(run.same_tokenizer for run in runs):
            continue  # the loss tells the same
        values = {run.name: value for run in runs if (value := getattr(run, name)) is not None}
        bound = frozenset(run.name for run in runs if run.text_bound) if name.startswith("text") else frozenset()
        if values:
            yield ComparisonPanel(title, values, {}, percent=percent, bounds=bound)
    for name, probed in runs[0].probes.items():
        probes = {run.name: run.probes[name] for run in runs}
        yield ComparisonPanel(
            f"Probe {name}, {MEASURES[probed.kind]}",
            {entry: probe.score for entry, probe in probes.items()},
            {entry: probe.untrained.value for entry, probe in probes.items()},
            probed.majority,
            percent=True,
        )
    speeds = {run.name: run.tokens_per_second for run in runs if run.tokens_per_second is not None}
    if not speeds:
        return
    yield ComparisonPanel("Tokens a second", {name: Figure(speed, speed, speed) for name, speed in speeds.items()}, {})


def draw_chart(comparison: Comparison) -> bytes:
    """Draw it."""
    with matplotlib.rc_context(STYLE):
        picture = io.BytesIO()
        lay_out(comparison).savefig(picture, format="png")
    return picture.getvalue()


def lay_out(comparison: Comparison) -> Drawing:
    """The panels side by side: names stand once, left of each line of panels, and what all share stands below."""
    all_panels = list(chart_panels(comparison))
    names = {run.name: wrap_name(run.name, NAME_WIDTH) for run in comparison.runs}
    lines = max(name.count("\n") + 1 for name in names.values())
    down = -(-len(all_panels) // ACROSS)
    high = 0.9 + (0.2 + 0.14 * lines) * len(names)
    drawing = Drawing(figsize=(12, 0.5 + high * down), dpi=110, layout="constrained")
    for number, panel in enumerate(all_panels):
        axes = drawing.add_subplot(down, ACROSS, number + 1)
        _draw_comparison(axes, panel, names, named=number % ACROSS == 0)
    captions = []
    if any(panel.bounds & panel.values.keys() for panel in all_panels):
        captions.append("≤: a bound from above")
    if any(panel.before for panel in all_panels):
        captions.append("hollow: before training · dotted: always the most frequent label")
    drawing.supxlabel(" · ".join(["bars: 95 % intervals", *captions]), fontsize=8, x=0.99, ha="right")
    return drawing


def wrap_name(name: str, width: int) -> str:
    """A long name on several lines, broken where paths and names have joints, and where they have none anywhere.

    >>> wrap_name("bert-tiny", 24), wrap_name("experiments/modernbert-mini-lr3e-2", 24)
    ('bert-tiny', 'experiments/modernbert-\\nmini-lr3e-2')
    """
    lines = [""]
    for piece in re.findall(r"[^-/_. ]*[-/_. ]?", name):
        while len(lines[-1]) + len(piece) > width and (lines[-1] or len(piece) > width):
            if lines[-1] and len(piece) <= width:
                lines.append("")
            else:
                room = width - len(lines[-1])
                lines[-1], piece = lines[-1] + piece[:room], piece[room:]
                lines.append("")
        lines[-1] += piece
    return "\n".join(line for line in lines if line)


def _draw_comparison(axes: Axes, panel: ComparisonPanel, names: dict[str, str], *, named: bool) -> None:
    rows = {name: row for row, name in enumerate(reversed(names))}
    for name, value in panel.values.items():
        bounded = isfinite(value.low) and isfinite(value.high)
        around = [[max(0, value.value - value.low)], [max(0, value.high - value.value)]] if bounded else None
        axes.errorbar([value.value], [rows[name]], xerr=around, fmt="o", color=TRAINING_COLOUR, capsize=3, markersize=5)
        label = f"≤ {_value_label(panel, value.value)}" if name in panel.bounds else _value_label(panel, value.value)
        axes.annotate(label, (value.value, rows[name]), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    for name, score in panel.before.items():
        axes.plot([score], [rows[name]], "o", markerfacecolor="none", color=FAINT, markersize=5)
    if panel.baseline is not None:
        axes.axvline(panel.baseline, color=HELD_OUT_COLOUR, linewidth=1, linestyle=":")
    axes.set_yticks(list(rows.values()), [names[name] for name in rows] if named else [""] * len(rows))
    axes.set_ylim(-0.6, len(names) - 0.3)
    axes.margins(x=0.2)  # a figure stands above its point, also above the outermost
    axes.xaxis.set_major_locator(MaxNLocator(4))
    if panel.percent:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))
    axes.set_title(wrap_name(panel.title, TITLE_WIDTH), loc="left")


def _value_label(panel: ComparisonPanel, value: float) -> str:
    if panel.percent:
        return f"{value:.1%}"
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
