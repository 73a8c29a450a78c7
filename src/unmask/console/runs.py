"""Runs for people: a table of them, one as it stands, one that is going on.

In: `RunList` and `RunStatus`. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from math import isfinite, nan
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unmask.console.layout import headline, next_command, page, table
from unmask.quantities import ago, bar, brief, duration
from unmask.results import RunList, RunStatus, Validation

SPARKS = "▁▂▃▄▅▆▇█"
COLOURS = {"running": "cyan", "finished": "green", "stopped": "yellow", "damaged": "red", "foreign": "red"}
ENDINGS = {
    "running": "still running",
    "finished": "it came to its end",
    "stopped": "stopped, or its process died; --resume goes on",
    "damaged": "it cannot go on",
    "foreign": "another version of unmask made it",
}


def draw_runs(listed: RunList) -> RenderableType:
    """Two lines for each run: what it is called and its state, then where it stands."""
    where = Path(" ".join(map(str, listed.folders)))
    count = f"{len(listed.runs)} run{'' if len(listed.runs) == 1 else 's'}"
    rows = Table.grid(padding=(0, 2, 0, 0))
    for run in listed.runs:
        name = Text.assemble((str(run.path), "bold"), (f"  {ago(run.age)} ago", "dim"))
        rows.add_row(Text(f" {run.state}", style=COLOURS[run.state]), Group(name, Text(_in_short(run))))
    hint = f"unmask watch {listed.runs[0].path}" if listed.runs else "unmask pretrain data --out run --minutes 10"
    return page(headline("Found", where, count), *([rows] if listed.runs else []), next_command(hint))


def _in_short(run: RunStatus) -> str:
    """Where a run stands, in a line."""
    if run.problem:
        return run.problem
    parts = [run.recipe, f"{_steps(run)} steps", f"{brief(run.tokens)} tokens"]
    if run.last and run.best:
        name = run.titles[0].name
        same = run.last.figures[name] == run.best.figures[name]
        parts.append(f"held out {_measured(run, run.last)}" + ("" if same else f" · best {_measured(run, run.best)}"))
    if run.final:
        parts.append(f"all of it {_measured(run, run.final)}")
    return " · ".join(filter(None, parts))


def draw_run(run: RunStatus) -> RenderableType:
    """A run as it stands, and what one may do."""
    parts: list[RenderableType] = [headline(run.state.capitalize(), run.path, ENDINGS[run.state]), _facts(run)]
    if run.problem:
        parts.append(Text(f"  {run.problem}", style="red"))
    hints = {
        "finished": f'unmask fill {run.path} "The capital of France is [MASK]."',
        "running": f"unmask watch {run.path}",
    }
    if run.state in hints:
        parts.append(next_command(hints[run.state]))
    return page(*parts)


def panel(run: RunStatus) -> RenderableType:
    """A run that is going on, for a console that is drawn again and again."""
    share = run.step / run.steps if run.steps else 0.0
    left = "timing its steps" if run.state == "running" else ""
    if run.seconds_left is not None:
        left = f"{duration(run.seconds_left)} left"
    gauge = Text.assemble("  ", (f"{bar(share, 40):<40}", "cyan"), f"  {share:.0%}  {left}")
    return Group(headline(run.state.capitalize(), run.path, run.recipe), Text(""), gauge, Text(""), _facts(run))


def _facts(run: RunStatus) -> RenderableType:
    headline = run.titles[0]
    values = [each.figures[headline.name] for each in run.validations if isfinite(each.figures[headline.name])]
    rows = [
        ("recipe", run.recipe),
        ("step", _steps(run)),
        ("tokens seen", f"{run.tokens:,}"),
        *(
            (each.name.replace("_", " "), each.spelt(run.figures[each.name]))
            for each in run.titles
            if each.name in run.figures
        ),
        ("learning rate", _number(run.figures.get("lr"), ".2e")),
        ("tokens a second", _number(run.tokens_per_second, ",.0f")),
        ("time on steps", duration(run.seconds)),
        ("held out, last", _measured(run, run.last)),
        ("held out, best", _measured(run, run.best)),
        ("all held out", _measured(run, run.final)),
        (f"held-out {headline.name}", sparkline(values)),
        ("last heard of", f"{ago(run.age)} ago"),
    ]
    return table(("", ""), [row for row in rows if row[1]], numbers=())


def validation_line(run: RunStatus, validation: Validation) -> str:
    """One validation as a line of a log."""
    steps = f" of {run.steps:,}" if run.steps else ""
    return f"step {validation.step:,}{steps} · held out {_measured(run, validation)}"


def final_line(run: RunStatus, final: Validation) -> str:
    """The last measurement as a line of a log."""
    return f"the end · all that is held out {_measured(run, final)}"


def sparkline(values: list[float]) -> str:
    """Numbers as a line of blocks, the largest the highest.

    >>> sparkline([9.0, 6.0, 4.0, 3.5, 3.4])
    '█▄▂▁▁'
    """
    if not values:
        return ""
    low, reach = min(values), max(values) - min(values)
    return "".join(SPARKS[int((value - low) / reach * (len(SPARKS) - 1) + 0.5) if reach else 0] for value in values)


def _steps(run: RunStatus) -> str:
    return f"{run.step:,} of {run.steps:,}" if run.steps else f"{run.step:,}"


def _measured(run: RunStatus, validation: Validation | None) -> str:
    """The first two figures that people look at."""
    if validation is None:
        return ""
    shown = [title for title in run.titles if isfinite(validation.figures.get(title.name, nan))]
    return ", ".join(title.spelt(validation.figures[title.name]) for title in shown[:2])


def _number(value: float | None, form: str) -> str:
    return "" if value is None or not isfinite(value) else f"{value:{form}}"
