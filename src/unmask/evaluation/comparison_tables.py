"""The tables of a comparison, in plain strings: for a terminal, and for the README beside the runs.

In: a `Comparison`. Out: heads and rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmask.quantities import format_count, format_duration, with_interval
from unmask.results import ComparedRun, Comparison, Figure


def comparison_tables(result: Comparison) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """The tables of a comparison: how it was trained, what it restores, what its vectors tell."""
    runs = result.runs
    yield (
        ("recipe", "parameters", "steps", "tokens", "time", "tokens/s"),
        [
            (
                run.recipe,
                format_count(run.parameters),
                f"{run.steps:,}",
                format_count(run.tokens),
                format_duration(run.seconds),
                f"{run.tokens_per_second:,.0f}",
            )
            for run in runs
        ],
    )
    yield (
        ("", "masked loss", "masked accuracy", "text, bits a byte"),
        [
            (
                run.recipe,
                _figure_cell(run.masked_loss, ".2f"),
                _figure_cell(run.masked_accuracy, ".1%"),
                _text_bits(run),
            )
            for run in runs
        ],
    )
    for name, first in runs[0].probes.items():
        measure = "accuracy" if first.kind == "classification" else "F1 of tags"
        rows: list[tuple[str, ...]] = [
            (
                run.recipe,
                _figure_cell(probe.score, ".1%"),
                _figure_cell(probe.untrained, ".1%"),
                f"{probe.majority:.1%}",
            )
            for run in runs
            for probe in (run.probes[name],)
        ]
        yield (f"probe {name}", measure, "before training", "most frequent"), rows


def _text_bits(run: ComparedRun) -> str:
    cell = _figure_cell(run.text_bits_per_byte, ".3f")
    return f"≤ {cell}" if run.text_bound and run.text_bits_per_byte else cell


def _figure_cell(figure: Figure | None, form: str) -> str:
    """A figure with its interval in one cell."""
    if figure is None:
        return "–"
    value, interval = with_interval(figure, form)
    return f"{value} ({interval.replace(' – ', '–')})"
