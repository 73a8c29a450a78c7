"""A comparison as one picture: a panel for each figure, a row for each recipe, with its interval.

In: a `Comparison`. Out: a PNG. Drawn without a display.
"""

from __future__ import annotations

import io
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
        ("Text, bits per byte", "text_bits_per_byte", False),
    ):
        values = {run.recipe: value for run in runs if (value := getattr(run, name)) is not None}
        bound = frozenset(run.recipe for run in runs if run.text_bound) if name.startswith("text") else frozenset()
        if values:
            yield ComparisonPanel(title, values, {}, percent=percent, bounds=bound)
    for name, probed in runs[0].probes.items():
        probes = {run.recipe: run.probes[name] for run in runs}
        yield ComparisonPanel(
            f"Probe {name}, {MEASURES[probed.kind]}",
            {recipe: probe.score for recipe, probe in probes.items()},
            {recipe: probe.untrained.value for recipe, probe in probes.items()},
            probed.majority,
            percent=True,
        )
    speeds = {run.recipe: run.tokens_per_second for run in runs}
    yield ComparisonPanel("Tokens a second", {name: Figure(speed, speed, speed) for name, speed in speeds.items()}, {})


def draw_chart(comparison: Comparison) -> bytes:
    """Draw it."""
    all_panels = list(chart_panels(comparison))
    down = -(-len(all_panels) // ACROSS)
    names = [run.recipe for run in comparison.runs]
    high = 0.9 + 0.32 * len(names)
    with matplotlib.rc_context(STYLE):
        drawing = Drawing(figsize=(12, 0.3 + high * down), dpi=110, layout="constrained")
        for number, panel in enumerate(all_panels, start=1):
            _draw_comparison(drawing.add_subplot(down, ACROSS, number), panel, names)
        picture = io.BytesIO()
        drawing.savefig(picture, format="png")
    return picture.getvalue()


def _draw_comparison(axes: Axes, panel: ComparisonPanel, names: list[str]) -> None:
    rows = {name: row for row, name in enumerate(reversed(names))}
    for name, value in panel.values.items():
        bounded = isfinite(value.low) and isfinite(value.high)
        around = [[max(0, value.value - value.low)], [max(0, value.high - value.value)]] if bounded else None
        axes.errorbar([value.value], [rows[name]], xerr=around, fmt="o", color=TRAINING_COLOUR, capsize=3, markersize=5)
        label = (
            f"{value.value:.1%}"
            if panel.percent
            else f"{value.value:,.2f}"
            if value.value < 100
            else f"{value.value:,.0f}"
        )
        label = f"≤ {label}" if name in panel.bounds else label
        axes.annotate(label, (value.value, rows[name]), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    for name, score in panel.before.items():
        axes.plot([score], [rows[name]], "o", markerfacecolor="none", color=FAINT, markersize=5)
    if panel.baseline is not None:
        axes.axvline(panel.baseline, color=HELD_OUT_COLOUR, linewidth=1, linestyle=":")
    axes.set_yticks(list(rows.values()), list(rows))
    axes.set_ylim(-0.6, len(names) - 0.3)
    axes.margins(x=0.12)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    if panel.percent:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axes.set_title(panel.title, loc="left")
    if panel.before:
        axes.set_xlabel("hollow: before training · dotted: the most frequent label", fontsize=8)
