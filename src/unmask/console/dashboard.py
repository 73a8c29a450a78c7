"""Runs and plans for people: a table of runs, a run that is going on, what a training would take.

In: `Listed`, `Watched` and `Planned`. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from math import isfinite, nan
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unmask.console.layout import fact, headline, next_command, page, table
from unmask.quantities import ago, bar, brief, duration, size
from unmask.results import Listed, Planned, Took, Validation, Watched

SPARKS = "▁▂▃▄▅▆▇█"
COLOURS = {"running": "cyan", "finished": "green", "stopped": "yellow", "damaged": "red", "foreign": "red"}
ENDINGS = {
    "running": "still running",
    "finished": "it came to its end",
    "stopped": "stopped, or its process died; --resume goes on",
    "damaged": "it cannot go on",
    "foreign": "another version of unmask made it",
}


def draw_runs(listed: Listed) -> RenderableType:
    """Two lines for each run: what it is called and its state, then where it stands."""
    where = Path(" ".join(map(str, listed.folders)))
    count = f"{len(listed.runs)} run{'' if len(listed.runs) == 1 else 's'}"
    rows = Table.grid(padding=(0, 2, 0, 0))
    for run in listed.runs:
        name = Text.assemble((str(run.path), "bold"), (f"  {ago(run.age)} ago", "dim"))
        rows.add_row(Text(f" {run.state}", style=COLOURS[run.state]), Group(name, Text(_in_short(run))))
    hint = f"unmask watch {listed.runs[0].path}" if listed.runs else "unmask pretrain data --out run --minutes 10"
    return page(headline("Found", where, count), *([rows] if listed.runs else []), next_command(hint))


def _in_short(run: Watched) -> str:
    """Where a run stands, in a line."""
    if run.problem:
        return run.problem
    parts = [run.recipe, f"{_steps(run)} steps", f"{brief(run.tokens)} tokens"]
    if run.last and run.best:
        name = run.titles[0].name
        same = run.last.figures[name] == run.best.figures[name]
        parts.append(f"held out {_measured(run, run.last)}" + ("" if same else f" · best {_measured(run, run.best)}"))
    return " · ".join(filter(None, parts))


def draw_run(run: Watched) -> RenderableType:
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


def panel(run: Watched) -> RenderableType:
    """A run that is going on, for a console that is drawn again and again."""
    share = run.step / run.steps if run.steps else 0.0
    left = "timing its steps" if run.state == "running" else ""
    if run.seconds_left is not None:
        left = f"{duration(run.seconds_left)} left"
    gauge = Text.assemble("  ", (f"{bar(share, 40):<40}", "cyan"), f"  {share:.0%}  {left}")
    return Group(headline(run.state.capitalize(), run.path, run.recipe), Text(""), gauge, Text(""), _facts(run))


def _facts(run: Watched) -> RenderableType:
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
        (f"held-out {headline.name}", sparkline(values)),
        ("last heard of", f"{ago(run.age)} ago"),
    ]
    return table(("", ""), [row for row in rows if row[1]], numbers=())


def draw_plan(plan: Planned) -> RenderableType:
    """What a training would take, and the command that begins it."""
    rows = [
        ("parameters", f"{plan.parameters:,}", _optimizers(plan)),
        ("a step", f"{plan.batch_size * plan.length:,} tokens", _batch(plan)),
        ("operations", f"{brief(plan.flops_per_token)}FLOP", f"a token; {brief(plan.flops_per_step)}FLOP a step"),
        ("checkpoint", size(plan.checkpoint), "weights and the optimizers' state"),
    ]
    if plan.steps is not None and plan.tokens is not None and plan.flops is not None:
        passes = f", {plan.passes:.2f} passes over the data" if plan.passes else ""
        rows.append(("training", f"{brief(plan.tokens)} tokens", f"{plan.steps:,} steps{passes}"))
        rows.append(("", f"{brief(plan.flops)}FLOP", "in all"))
    if plan.seconds_per_step is not None:
        each = f"{plan.seconds_per_step:.3g} s a step"
        rows.append(("time", duration(plan.seconds) if plan.seconds is not None else each, f"{each}, {_speed(plan)}"))
    suggested = plan.suggested
    rates = ", ".join(f"{name} {rate:.2g}" for name, rate in suggested.learning_rates.items())
    flags = f"--micro-batch {suggested.micro_batch} --batch-size {suggested.batch_size}"
    precision = "" if suggested.precision == "float32" else f" --precision {suggested.precision}"
    return page(
        headline("Planned", Path(plan.recipe), f"on {plan.hardware}, {plan.precision}"),
        table(("", "", ""), rows, numbers=(1,)),
        table(("memory on each device", ""), _memory(plan), numbers=(1,)),
        *_comparison(plan.compared),
        fact("suggested", f"{flags}{precision}; learning rates {rates}"),
    )


def _optimizers(plan: Planned) -> str:
    return ", ".join(f"{name} {brief(count)}" for name, count in plan.by_optimizer.items() if count)


def _batch(plan: Planned) -> str:
    return f"{plan.batch_size} blocks of {plan.length}, {plan.micro_batch} at once"


def _speed(plan: Planned) -> str:
    share = f"{plan.utilisation:.0%}" if plan.utilisation is not None else "all"
    return f"{share} of {brief(plan.peak * plan.devices)}FLOP/s"


def _memory(plan: Planned) -> list[tuple[str, str]]:
    total = sum(plan.memory.values())
    rows = [(name, size(count)) for name, count in plan.memory.items()]
    return [*rows, ("in all", size(total)), ("there is", size(plan.memory_there))]


def _comparison(compared: Took | None) -> list[RenderableType]:
    """A plan beside the run, the difference as a share of what it really took."""
    if compared is None:
        return []
    off = compared.planned / compared.took - 1 if compared.took else 0.0
    rows = [
        (f"{compared.steps:,} steps", "planned", "took"),
        ("time", duration(compared.planned), f"{duration(compared.took)}  ({off:+.0%})"),
        ("tokens", f"{compared.tokens_planned:,}", f"{compared.tokens:,}"),
    ]
    return [headline("Compared", compared.run, "with what it really took"), table(("", "", ""), rows, numbers=(1, 2))]


def validation_line(run: Watched, validation: Validation) -> str:
    """One validation as a line of a log."""
    steps = f" of {run.steps:,}" if run.steps else ""
    end = " · the end" if validation.final else ""
    return f"step {validation.step:,}{steps} · held out {_measured(run, validation)}{end}"


def sparkline(values: list[float]) -> str:
    """Numbers as a line of blocks, the largest the highest.

    >>> sparkline([9.0, 6.0, 4.0, 3.5, 3.4])
    '█▄▂▁▁'
    """
    if not values:
        return ""
    low, reach = min(values), max(values) - min(values)
    return "".join(SPARKS[int((value - low) / reach * (len(SPARKS) - 1) + 0.5) if reach else 0] for value in values)


def _steps(run: Watched) -> str:
    return f"{run.step:,} of {run.steps:,}" if run.steps else f"{run.step:,}"


def _measured(run: Watched, validation: Validation | None) -> str:
    """The first two figures that people look at."""
    if validation is None:
        return ""
    shown = [title for title in run.titles if isfinite(validation.figures.get(title.name, nan))]
    return ", ".join(title.spelt(validation.figures[title.name]) for title in shown[:2])


def _number(value: float | None, form: str) -> str:
    return "" if value is None or not isfinite(value) else f"{value:{form}}"
