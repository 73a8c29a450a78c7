"""Runs for people: a table of them, one as it stands, one that is going on.

In: `RunList` and `RunStatus`. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from math import isfinite, nan
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unmask.console.layout import UNWRAPPED, draw_page, draw_table, next_command, next_commands, title_line
from unmask.quantities import format_age, format_bar, format_count, format_duration
from unmask.results import RunList, RunStatus, Validation
from unmask.runs.commands import train_command

SPARKS = "▁▂▃▄▅▆▇█"
COLOURS = {"running": "cyan", "finished": "green", "stopped": "yellow", "damaged": "red", "foreign": "red"}
UNFINISHED = ("running", "stopped")
STATE_WIDTH = 9
ENDINGS = {
    "running": "still running",
    "finished": "it came to its end",
    "stopped": "stopped, or its process died; it can go on",
    "damaged": "it cannot go on",
    "foreign": "another version of unmask made it",
}
IN_ORDER = "stopped when asked to, its last step is saved; it can go on"


def draw_runs(run_list: RunList) -> RenderableType:
    """Two lines for each run: what it is called and its state, then where it stands."""
    folders = Path(" ".join(map(str, run_list.folders)))
    count = f"{len(run_list.runs)} run{'' if len(run_list.runs) == 1 else 's'}"
    sections: list[RenderableType] = [title_line("Found", folders, count)]
    if run_list.runs:
        sections.append(Group(*map(_draw_entry, run_list.runs)))
    if not any(run.state in UNFINISHED for run in run_list.runs):
        hints = [run.next[0] for run in run_list.runs if run.next] or [train_command("data")]
        sections.append(next_command(hints[0]))
    return draw_page(*sections)


def _draw_entry(run: RunStatus) -> RenderableType:
    """A run of the list; the command that goes on with it or follows it is never wrapped: it is there to be copied."""
    name = Text.assemble((str(run.path), "bold"), (f"  {format_age(run.age)} ago", "dim"))
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(width=STATE_WIDTH)
    row.add_row(Text(f" {run.state}", style=COLOURS[run.state]), Group(name, Text(_in_short(run))))
    indent, commands = " " * (STATE_WIDTH + 1), run.next if run.state in UNFINISHED else ()
    return Group(row, *(Text.assemble(indent, (command, "cyan"), **UNWRAPPED) for command in commands))


def _in_short(run: RunStatus) -> str:
    """Where a run stands, in a line."""
    if run.problem:
        return run.problem
    facts = [run.recipe, f"{_step_count(run)} steps", f"{format_count(run.tokens)} tokens"]
    if run.last and run.best:
        name = run.titles[0].name
        at_best = run.last.figures[name] == run.best.figures[name]
        facts.append(
            f"held out {_brief_figures(run, run.last)}"
            + ("" if at_best else f" · best {_brief_figures(run, run.best)}")
        )
    if run.final:
        facts.append(f"all of it {_brief_figures(run, run.final)}")
    return " · ".join(filter(None, facts))


def draw_run(run: RunStatus) -> RenderableType:
    """A run as it stands, and what one may do."""
    ending = IN_ORDER if run.stopped_in_order else ENDINGS[run.state]
    sections: list[RenderableType] = [
        title_line(run.state.capitalize(), run.path, ending),
        _status_table(run),
    ]
    if run.problem:
        sections.append(Text(f"  {run.problem}", style="red"))
    if run.next:
        sections.append(next_commands(run.next))
    return draw_page(*sections)


def draw_panel(run: RunStatus) -> RenderableType:
    """A run that is going on, for a console that is drawn again and again."""
    share = run.step / run.steps if run.steps else 0.0
    remaining = "timing its steps" if run.state == "running" else ""
    if run.seconds_left is not None:
        remaining = f"{format_duration(run.seconds_left)} left"
    gauge = Text.assemble("  ", (f"{format_bar(share, 40):<40}", "cyan"), f"  {share:.0%}  {remaining}")
    return Group(
        title_line(run.state.capitalize(), run.path, run.recipe), Text(""), gauge, Text(""), _status_table(run)
    )


def _status_table(run: RunStatus) -> RenderableType:
    headline = run.titles[0]
    values = [
        validation.figures[headline.name]
        for validation in run.validations
        if isfinite(validation.figures[headline.name])
    ]
    rows = [
        ("recipe", run.recipe),
        ("step", _step_count(run)),
        ("tokens seen", f"{run.tokens:,}"),
        *(
            (title.name.replace("_", " "), title.spelt(run.figures[title.name]))
            for title in run.titles
            if title.name in run.figures
        ),
        ("learning rate", _format_number(run.figures.get("lr"), ".2e")),
        ("tokens a second", _format_number(run.tokens_per_second, ",.0f")),
        ("time on steps", format_duration(run.seconds)),
        ("held out, last", _brief_figures(run, run.last)),
        ("held out, best", _brief_figures(run, run.best)),
        ("all held out", _brief_figures(run, run.final)),
        (f"held-out {headline.name}", sparkline(values)),
        ("last heard of", f"{format_age(run.age)} ago"),
    ]
    return draw_table(("", ""), [row for row in rows if row[1]], numbers=())


def validation_line(run: RunStatus, validation: Validation) -> str:
    """One validation as a line of a log."""
    steps = f" of {run.steps:,}" if run.steps else ""
    return f"step {validation.step:,}{steps} · held out {_brief_figures(run, validation)}"


def final_line(run: RunStatus, final: Validation) -> str:
    """The last measurement as a line of a log."""
    return f"the end · all that is held out {_brief_figures(run, final)}"


def sparkline(values: list[float]) -> str:
    """Numbers as a line of blocks, the largest the highest.

    >>> sparkline([9.0, 6.0, 4.0, 3.5, 3.4])
    '█▄▂▁▁'
    """
    if not values:
        return ""
    low, reach = min(values), max(values) - min(values)
    return "".join(SPARKS[int((value - low) / reach * (len(SPARKS) - 1) + 0.5) if reach else 0] for value in values)


def _step_count(run: RunStatus) -> str:
    return f"{run.step:,} of {run.steps:,}" if run.steps else f"{run.step:,}"


def _brief_figures(run: RunStatus, validation: Validation | None) -> str:
    """The first two figures that people look at."""
    if validation is None:
        return ""
    titles = [title for title in run.titles if isfinite(validation.figures.get(title.name, nan))]
    return ", ".join(f"{title.short} {title.spelt(validation.figures[title.name])}" for title in titles[:2])


def _format_number(value: float | None, form: str) -> str:
    return "" if value is None or not isfinite(value) else f"{value:{form}}"
