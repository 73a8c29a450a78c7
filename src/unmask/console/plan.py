"""A plan for people: what a training would take, beside what a run really took.

In: `Planned`. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, fact_line, title_line
from unmask.quantities import format_bytes, format_count, format_duration
from unmask.results import Planned, PlanVsRun, ProductSpeed


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
                f"{step_time}, {_speed_line(plan)}" + (", and validations" if plan.seconds is not None else ""),
            )
        )
    if plan.launches is not None and plan.floor is not None:
        rows.append(("", f"≥ {plan.floor:.3g} s", _launch_line(plan)))
    suggestion = plan.suggested
    learning_rates = ", ".join(f"{name} {lr:.2g}" for name, lr in suggestion.learning_rates.items())
    flags = f"--micro-batch {suggestion.micro_batch} --batch-size {suggestion.batch_size}"
    precision = "" if suggestion.precision == "float32" else f" --precision {suggestion.precision}"
    return draw_page(
        title_line("Planned", Path(plan.recipe), f"on {plan.hardware}, {plan.precision}"),
        draw_table(("", "", ""), rows, numbers=(1,)),
        draw_table(("memory on each device", ""), _memory(plan), numbers=(1,)),
        *_products(plan.products),
        *_comparison(plan.compared),
        fact_line("suggested", f"{flags}{precision}; learning rates {learning_rates}{_filling(plan)}"),
    )


def _launch_line(plan: Planned) -> str:
    """What a step takes at the least."""
    return f"to launch about {plan.launches:,} kernels, an estimate"


def _filling(plan: Planned) -> str:
    """From which batch on a GPU computes for longer than it is told what to compute."""
    fills, micro_batch = plan.suggested.fills, plan.suggested.micro_batch
    if fills is None or plan.micro_batch >= fills:
        return ""
    if micro_batch >= fills:
        return f"; from {fills:,} blocks at once on, launching is no longer what takes the time"
    return f"; {fills:,} blocks at once would fill a device, for which there is not the memory or not the budget"


def _products(products: tuple[ProductSpeed, ...]) -> list[RenderableType]:
    """How fast this machine multiplies, and what another precision or other threads would save."""
    if not products:
        return []
    now = products[0]
    rows = [
        (
            _way(product, now),
            f"{format_count(product.flops)}FLOP/s",
            "" if product.seconds_per_step is None else f"{product.seconds_per_step:.3g} s",
            _saving(product, now),
        )
        for product in products
    ]
    return [draw_table(("products on this machine", "measured", "a step", ""), rows, numbers=(1, 2))]


def _way(product: ProductSpeed, now: ProductSpeed) -> str:
    if product is now:
        return f"{now.precision}, {now.threads} thread{'' if now.threads == 1 else 's'}, as planned"
    return (
        f"OMP_NUM_THREADS={product.threads}" if product.threads != now.threads else f"--precision {product.precision}"
    )


def _saving(product: ProductSpeed, now: ProductSpeed) -> str:
    """What it would save of a step, as far as products tell."""
    if product is now or product.seconds_per_step is None or not now.seconds_per_step:
        return ""
    share = 1 - product.seconds_per_step / now.seconds_per_step
    return f"would save {share:.0%}" if share > 0 else f"would take {-share:.0%} more"


def _optimizers(plan: Planned) -> str:
    return ", ".join(f"{name} {format_count(count)}" for name, count in plan.by_optimizer.items() if count)


def _batch_line(plan: Planned) -> str:
    return f"{plan.blocks}; {plan.micro_batch} at once"


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
        ("their time", format_duration(comparison.planned), f"{format_duration(comparison.took)}  ({off:+.0%})"),
        ("tokens", f"{comparison.tokens_planned:,}", f"{comparison.tokens:,}"),
    ]
    return [
        title_line("Compared", comparison.run, "with what it really took"),
        draw_table(("", "", ""), rows, numbers=(1, 2)),
        Padding(Text("Both are times of steps alone; the time above has validations in it too."), (0, 1)),
        *_other_hardware(comparison),
    ]


def _other_hardware(comparison: PlanVsRun) -> list[RenderableType]:
    """A warning where a plan for one machine stands beside a run on another."""
    if comparison.same_hardware:
        return []
    line = (
        f"The run was computed on {comparison.hardware}, which is not what is planned for: the times differ for that."
    )
    if comparison.hardware is None:
        line = "The run does not say what it was computed on: the times may differ for that."
    elif comparison.same_hardware is None:
        line = f"The run was computed on {comparison.hardware}; whether that is what is planned for is not known."
    return [Padding(Text(line, style="yellow"), (0, 1))]
