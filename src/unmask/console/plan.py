"""A plan for people: what a training would take, beside what a run really took.

In: `Planned`. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType

from unmask.console.layout import fact, headline, page, table
from unmask.quantities import brief, duration, size
from unmask.results import Planned, PlanVsRun


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


def _comparison(compared: PlanVsRun | None) -> list[RenderableType]:
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
