"""A plan for people: what a training would take, beside what a run really took.

In: `Planned`. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType

from unmask.console.layout import draw_page, draw_table, fact_line, title_line
from unmask.quantities import format_bytes, format_count, format_duration
from unmask.results import Planned, PlanVsRun


def draw_plan(plan: Planned) -> RenderableType:
    """What a training would take, and the command that begins it."""
    rows = [
        ("parameters", f"{plan.parameters:,}", _optimizers(plan)),
        ("a step", f"{plan.batch_size * plan.length:,} tokens", _batch_line(plan)),
        (
            "operations",
            f"{format_count(plan.flops_per_token)}FLOP",
            f"a token; {format_count(plan.flops_per_step)}FLOP a step",
        ),
        ("checkpoint", format_bytes(plan.checkpoint), "weights and the optimizers' state"),
    ]
    if plan.steps is not None and plan.tokens is not None and plan.flops is not None:
        passes = f", {plan.passes:.2f} passes over the data" if plan.passes else ""
        rows.append(("training", f"{format_count(plan.tokens)} tokens", f"{plan.steps:,} steps{passes}"))
        rows.append(("", f"{format_count(plan.flops)}FLOP", "in all"))
    if plan.seconds_per_step is not None:
        step_time = f"{plan.seconds_per_step:.3g} s a step"
        rows.append(
            (
                "time",
                format_duration(plan.seconds) if plan.seconds is not None else step_time,
                f"{step_time}, {_speed_line(plan)}",
            )
        )
    suggestion = plan.suggested
    learning_rates = ", ".join(f"{name} {lr:.2g}" for name, lr in suggestion.learning_rates.items())
    flags = f"--micro-batch {suggestion.micro_batch} --batch-size {suggestion.batch_size}"
    precision = "" if suggestion.precision == "float32" else f" --precision {suggestion.precision}"
    return draw_page(
        title_line("Planned", Path(plan.recipe), f"on {plan.hardware}, {plan.precision}"),
        draw_table(("", "", ""), rows, numbers=(1,)),
        draw_table(("memory on each device", ""), _memory(plan), numbers=(1,)),
        *_comparison(plan.compared),
        fact_line("suggested", f"{flags}{precision}; learning rates {learning_rates}"),
    )


def _optimizers(plan: Planned) -> str:
    return ", ".join(f"{name} {format_count(count)}" for name, count in plan.by_optimizer.items() if count)


def _batch_line(plan: Planned) -> str:
    return f"{plan.batch_size} blocks of {plan.length}, {plan.micro_batch} at once"


def _speed_line(plan: Planned) -> str:
    share = f"{plan.utilisation:.0%}" if plan.utilisation is not None else "all"
    return f"{share} of {format_count(plan.peak * plan.devices)}FLOP/s"


def _memory(plan: Planned) -> list[tuple[str, str]]:
    total = sum(plan.memory.values())
    rows = [(name, format_bytes(count)) for name, count in plan.memory.items()]
    return [*rows, ("in all", format_bytes(total)), ("there is", format_bytes(plan.memory_there))]


def _comparison(comparison: PlanVsRun | None) -> list[RenderableType]:
    """A plan beside the run, the difference as a share of what it really took."""
    if comparison is None:
        return []
    off = comparison.planned / comparison.took - 1 if comparison.took else 0.0
    rows = [
        (f"{comparison.steps:,} steps", "planned", "took"),
        ("time", format_duration(comparison.planned), f"{format_duration(comparison.took)}  ({off:+.0%})"),
        ("tokens", f"{comparison.tokens_planned:,}", f"{comparison.tokens:,}"),
    ]
    return [
        title_line("Compared", comparison.run, "with what it really took"),
        draw_table(("", "", ""), rows, numbers=(1, 2)),
    ]
