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
                each.recipe,
                format_count(each.parameters),
                f"{each.steps:,}",
                format_count(each.tokens),
                format_duration(each.seconds),
                f"{each.tokens_per_second:,.0f}",
            )
            for each in runs
        ],
    )
    yield (
        ("", "masked loss", "masked accuracy", "text, bits a byte"),
        [
            (each.recipe, _cell(each.masked_loss, ".2f"), _cell(each.masked_accuracy, ".1%"), _text_bits(each))
            for each in runs
        ],
    )
    for name, first in runs[0].probes.items():
        measure = "accuracy" if first.kind == "classification" else "F1 of tags"
        rows: list[tuple[str, ...]] = [
            (each.recipe, _cell(probed.score, ".1%"), _cell(probed.untrained, ".1%"), f"{probed.majority:.1%}")
            for each in runs
            for probed in (each.probes[name],)
        ]
        yield (f"probe {name}", measure, "before training", "most frequent"), rows


def _text_bits(each: ComparedRun) -> str:
    cell = _cell(each.text_bits_per_byte, ".3f")
    return f"≤ {cell}" if each.text_bound and each.text_bits_per_byte else cell


def _cell(figure: Figure | None, form: str) -> str:
    """A figure with its interval in one cell."""
    if figure is None:
        return "–"
    value, interval = with_interval(figure, form)
    return f"{value} ({interval.replace(' – ', '–')})"
