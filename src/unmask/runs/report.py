"""The report of a run: `plot.png`, and `report.html`, one page that needs nothing else.

In: a run directory and a few facts about what is trained. Out: both files beside the run's own. Everything that comes
from data, paths or settings is escaped; the page has no script and loads nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from unmask.files import write_bytes, write_text
from unmask.quantities import format_count, format_duration
from unmask.results import FigureTitle, RunStatus
from unmask.runs.adapted_report import adapted_sections, kept_figures
from unmask.runs.commands import use_commands
from unmask.runs.description import flatten_settings
from unmask.runs.directory import FINAL
from unmask.runs.fills_report import fills_section
from unmask.runs.history import HELD_OUT, History, Line, read_history, summarize_run
from unmask.runs.page import html_cards, html_heads, html_page, html_table
from unmask.runs.tuned_report import judged_figures, tuned_sections

PLOT, PAGE = "plot.png", "report.html"


def write_report(path: Path, facts: Mapping[str, str] | None = None, *, going_on: bool = False) -> None:
    """Write the plot and the page of the run as it stands; who trains it says whether it goes on."""
    from unmask.runs.plot import plot_run  # matplotlib takes a second to load

    history = replace(read_history(path), running=going_on)
    run_plot = plot_run(history)
    write_bytes(path / PLOT, run_plot.png)
    write_text(path / PAGE, render_page(history, run_plot.svg, facts or {}))


def render_page(history: History, svg: str, facts: Mapping[str, str]) -> str:
    """The whole page."""
    run = summarize_run(history)
    shown = {name: value for name, value in history.description.items() if name not in ("figures", "uses", "example")}
    name, settings = history.path.resolve().name, html_table(flatten_settings(shown))
    body = f"""<header><h1>{escape(name)}</h1><span class="state {escape(run.state)}">{escape(run.state)}</span>
<span class="faint">{escape(run.recipe)} · {time.strftime("%Y-%m-%d %H:%M")}</span></header>
{html_cards([*judged_figures(history.path), *_headline_figures(run, [*kept_figures(history.path)])])}
<section>{svg}</section>
<div class="two">
<section><h2>What was trained, on what</h2>{html_table(_description_rows(history, facts))}</section>
<section><h2>How to use it</h2>{_use(run, history)}</section>
</div>
{tuned_sections(history.path)}{adapted_sections(history)}{fills_section(history.path)}
<section><h2>On what is held out: always the same sample, in the end all of it</h2>{_validations(history)}</section>
<section><details><summary>Every setting</summary>{settings}</details></section>"""
    return html_page(name, body)


def _headline_figures(run: RunStatus, kept: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Those of the model that is kept first, where it is another than that of the last step."""
    measured, where = (run.final, "all that is held out") if run.final else (run.last, "a sample held out")
    where = f"{where}, after the last step" if kept else where
    yield from kept
    figures = {} if measured is None else measured.figures
    for title in run.titles:
        if title.name in figures:
            yield title.spelt(figures[title.name]), f"{title.title}: {where}"
    yield format_count(run.tokens), "tokens seen"
    yield f"{run.step:,}", f"of {run.steps:,} steps" if run.steps else "steps"
    yield format_duration(run.seconds), "spent on steps"


def _description_rows(history: History, facts: Mapping[str, str]) -> dict[str, str]:
    """What the run is, in words."""
    description = history.description
    rows = {
        "what": description.get("name"),
        **facts,
        "seed": description.get("seed"),
        "unmask": description.get("unmask"),
    }
    return {name: str(value) for name, value in rows.items() if value is not None}


def _use(run: RunStatus, history: History) -> str:
    if run.state != "finished":
        return f"<p>The model is there when the run is finished.</p>{''.join(map(_code, run.next))}"
    uses = use_commands(run.path, history.description)
    return "".join(map(_code, uses)) or "<p>The README of the model says how it is used.</p>"


def _code(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _validations(history: History) -> str:
    if not history.validation_lines:
        return "<p>Nothing was measured yet.</p>"
    titles = [title for title in history.titles if HELD_OUT + title.name in history.figure_names]
    heads = html_heads(("step", "tokens seen", *(title.title for title in titles)))
    rows = [_measured(history, titles, line, HELD_OUT, f"{line['step']:,}") for line in history.validation_lines]
    if history.final_line:
        rows.append(_measured(history, titles, history.final_line, FINAL, "the end, on all that is held out"))
    return f'<table class="figures"><tr>{heads}</tr>{"".join(rows)}</table>'


def _measured(history: History, titles: Sequence[FigureTitle], line: Line, prefix: str, name: str) -> str:
    """A measurement as a row of the table."""
    values = [(title, line.get(prefix + title.name)) for title in titles]
    cells = [
        name,
        f"{history.tokens_at(line):,.0f}",
        *("" if value is None else title.spelt(value) for title, value in values),
    ]
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
