"""The plot of a run: the figures that its job names, learning rate, gradient norm and speed against the tokens seen.

In: a `History`. Out: a PNG, and an SVG to stand in a page. Drawn without a display and without matplotlib's global
state, so that it can be done in the middle of a training.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from unmask.quantities import format_count
from unmask.runs.directory import FINAL
from unmask.runs.history import HELD_OUT, History, summarize_run

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of fonts on a terminal that belongs to the training

INK, FAINT, GRID = "#1f2933", "#7b8794", "#e4e7eb"
TRAINING_COLOUR, HELD_OUT_COLOUR, SINGLE_COLOUR, SKIP_COLOUR = "#3b6fb6", "#d9480f", "#0b7285", "#e03131"
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": FAINT,
    "axes.edgecolor": "#cbd2d9",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "unmask",  # the same run gives the same bytes
}


NOTHING: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))  # said of the picture in the picture


@dataclass(frozen=True)
class Panel:
    """One diagram: a figure of the steps, and the same of held-out text where there is one."""

    title: str
    figure: str
    held_out: str = ""
    percent: bool = False
    noisy: bool = True  # from step to step, so that a running mean is easier to read


MAX_LARGE = 3  # large diagrams: more would be too small to read
ALWAYS = (
    Panel("Learning rate", "lr", noisy=False),
    Panel("Gradient norm", "gradient_norm"),
    Panel("Tokens a second", "tokens_per_second"),
)


def panels_of(history: History) -> tuple[list[Panel], list[Panel]]:
    """The diagrams of a run, large and small: what it measures on what is held out, and the rest of what it logs."""
    titles, names = history.titles, history.figure_names
    large_titles = [title for title in titles if HELD_OUT + title.name in names and title.name in names] or [titles[0]]
    large = [Panel(title.title, title.name, HELD_OUT + title.name, title.percent) for title in large_titles[:MAX_LARGE]]
    small_titles = [title for title in titles if title not in large_titles and title.name in names]
    small = [Panel(title.title, title.name, percent=title.percent, noisy=False) for title in small_titles]
    return large, [ALWAYS[0], *small, *ALWAYS[1:]]


@dataclass(frozen=True)
class Plot:
    """The same plot as a picture and as an element to stand in a page of HTML."""

    png: bytes
    svg: str


def plot_run(history: History) -> Plot:
    """Draw a run."""
    with matplotlib.rc_context(STYLE):
        figure, picture, page = draw_figure(history), io.BytesIO(), io.BytesIO()
        figure.savefig(picture, format="png")
        figure.savefig(page, format="svg", metadata=NOTHING)
    text = page.getvalue().decode()
    return Plot(picture.getvalue(), text[text.index("<svg") :])  # without the prologue of a file of its own


def draw_figure(history: History) -> Figure:
    """All panels, in places of their own: finding places for them would take longer than drawing them."""
    figure = Figure(figsize=(12, 7), dpi=110)
    large, small = panels_of(history)
    for panels, bottom, top, spacing in ((large, 0.42, 0.95, 0.12), (small, 0.06, 0.29, 0.3)):
        places = figure.add_gridspec(1, len(panels), left=0.05, right=0.985, bottom=bottom, top=top, wspace=spacing)
        for column, panel in enumerate(panels):
            _draw_panel(figure.add_subplot(places[0, column]), panel, history)
    return figure


def _draw_panel(axes: Axes, panel: Panel, history: History) -> None:
    tokens, values = history.curve(panel.figure)
    colour = TRAINING_COLOUR if panel.held_out else SINGLE_COLOUR
    if panel.noisy and len(values) > 2 * _window(values):
        axes.plot(tokens, values, color=colour, linewidth=0.7, alpha=0.3)
        values = smooth(values, _window(values))
    if values:
        axes.plot(tokens, values, color=colour, linewidth=1.6, label="training" if panel.held_out else None)
    if panel.held_out:
        _held_out(axes, panel, history)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(loc="best")
    for place in (line["tokens"] for line in history.step_lines if line.get("skipped")):
        axes.axvline(place, color=SKIP_COLOUR, linewidth=0.8, alpha=0.5)
    axes.set_title(panel.title, loc="left")
    if panel.held_out:
        axes.set_xlabel("tokens seen")
    measured = history.curve(panel.held_out)[0] if panel.held_out else ()
    axes.set_xlim(0, max([*tokens, *measured, 1]) * 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(6 if panel.held_out else 3))
    axes.yaxis.set_major_locator(MaxNLocator(6 if panel.held_out else 4))
    axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    axes.yaxis.set_major_formatter(FuncFormatter(_percent if panel.percent else _plain))


def _held_out(axes: Axes, panel: Panel, history: History) -> None:
    """The measurements on a sample of what is held out, the last with its value; on all of it, of what is kept."""
    tokens, values = history.curve(panel.held_out)
    if not values:
        return
    axes.plot(tokens, values, "o-", color=HELD_OUT_COLOUR, linewidth=1.6, markersize=4, label="held out, a sample")
    label = f"{values[-1]:.1%}" if panel.percent else f"{values[-1]:.2f}"
    above = (-4, 9) if panel.percent else (-4, -16)
    axes.annotate(
        label,
        (tokens[-1], values[-1]),
        above,
        textcoords="offset points",
        ha="right",
        color=HELD_OUT_COLOUR,
        fontweight="bold",
    )
    place, figure = history.curve(FINAL + panel.figure)
    if figure:
        best = summarize_run(history).best if history.description.get("keeps_best") else None
        kept = place[-1] if best is None else history.tokens_at({"step": best.step})
        label = f"all of it {figure[-1]:.1%}" if panel.percent else f"all of it {figure[-1]:.2f}"
        axes.plot([kept], figure[-1:], "*", color=HELD_OUT_COLOUR, markersize=11, label=label)


def smooth(values: Sequence[float], window: int) -> list[float]:
    """A running mean, the same from both sides: a value counts half at `window` steps from itself.

    >>> [round(value, 2) for value in smooth([7.0, 0.0, 0.0], 1)]
    [5.5, 1.17, 0.5]
    """
    keep = 0.5 ** (1 / window)
    ways = []
    for way in (values, values[::-1]):
        total, weight, means = 0.0, 0.0, []
        for value in way:
            total, weight = keep * total + value, keep * weight + 1
            means.append(total / weight)
        ways.append(means)
    return [(before + after) / 2 for before, after in zip(ways[0], reversed(ways[1]), strict=True)]


def _window(values: Sequence[float]) -> int:
    return max(3, len(values) // 60)


def _percent(value: float, _place: int | None) -> str:
    return f"{value:.1%}".replace(".0%", "%")


def _plain(value: float, _place: int | None) -> str:
    """A number in few characters: 1.2 M, 7.5, 2.4e-3."""
    if abs(value) >= 1000:
        return format_count(value).replace(".0 ", " ")
    return f"{value:g}" if abs(value) >= 0.01 or not value else f"{value:.1e}".replace("e-0", "e-")
