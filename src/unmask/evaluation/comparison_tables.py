"""The tables of a comparison, in plain strings: for a terminal, and for the README beside the runs.

In: a `Comparison`. Out: heads and rows, and notes of what keeps some of it from being compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmask.quantities import format_count, format_duration, with_interval
from unmask.results import ComparedRun, Comparison, Figure

UNKNOWN = "–"
TOLERANCE = 1.05  # times the smallest that the largest of equal budgets may be


def comparison_tables(result: Comparison) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """The tables of a comparison: how it was trained, what it restores, what its vectors tell."""
    runs = result.runs
    yield (
        (
            "recipe" if all(run.trained_here for run in runs) else "",
            "parameters",
            "steps",
            "tokens",
            "time",
            "tokens/s",
        ),
        [
            (
                run.name,
                format_count(run.parameters),
                UNKNOWN if run.steps is None else f"{run.steps:,}",
                UNKNOWN if run.tokens is None else format_count(run.tokens),
                UNKNOWN if run.seconds is None else format_duration(run.seconds),
                UNKNOWN if run.tokens_per_second is None else f"{run.tokens_per_second:,.0f}",
            )
            for run in runs
        ],
    )
    yield (
        ("", "masked loss", "masked accuracy", "text, bits a byte"),
        [
            (
                run.name,
                _figure_cell(run.masked_loss, ".2f"),
                _figure_cell(run.masked_accuracy, ".1%"),
                _text_bits(run),
            )
            for run in runs
        ],
    )
    if any(run.beyond_first for run in runs):
        reference = next(run.name for run in runs if run.masked_loss is not None)
        yield (
            (f"beside {reference}, on the same tokens", "masked loss"),
            [(run.name, _figure_cell(run.beyond_first, "+.3f")) for run in runs if run.beyond_first],
        )
    if not all(run.same_tokenizer for run in runs):
        yield (
            ("whatever the tokenizer", "hidden, bits a byte"),
            [(run.name, _figure_cell(run.hidden_bits_per_byte, ".3f")) for run in runs],
        )
    for name, first in runs[0].probes.items():
        measure = "accuracy" if first.kind == "classification" else "F1 of tags"
        rows: list[tuple[str, ...]] = [
            (
                run.name,
                _figure_cell(probe.score, ".1%"),
                _figure_cell(probe.untrained, ".1%"),
                f"{probe.majority:.1%}",
            )
            for run in runs
            for probe in (run.probes[name],)
        ]
        yield (f"probe {name}", measure, "before training", "most frequent"), rows


def comparison_notes(result: Comparison) -> Iterator[str]:
    """What keeps some of it from being compared: other budgets, tokenizers, data."""
    if note := _budget_note(result):
        yield note
    if len({run.precision for run in result.runs if run.precision}) > 1:
        precisions = (f"{run.name} {run.precision or 'not known'}" for run in result.runs)
        yield f"precisions differ: {', '.join(precisions)}"
    other_tokenizer = [run.name for run in result.runs if not run.same_tokenizer]
    other_data = [run.name for run in result.runs if run.same_data is False]
    unknown_data = [run.name for run in result.runs if run.same_data is None]
    for names, note in (
        (
            other_tokenizer,
            "another tokenizer than the others; loss and accuracy count other tokens, bits a byte compare",
        ),
        (other_data, "trained on other data, of which the text that all are measured on may have been a part"),
        (unknown_data, "on what it was trained is not known; the text that all are measured on may have been a part"),
    ):
        if names:
            yield f"{', '.join(names)}: {note}"


def _budget_note(result: Comparison) -> str | None:
    """What each really had, where that is not the same for all."""
    runs = result.runs
    if all(run.trained_here for run in runs):
        seconds = [run.seconds for run in runs if run.seconds]
        if "minutes" not in result.budget or max(seconds, default=0) <= TOLERANCE * min(seconds, default=0):
            return None
        return f"budgets differ: {', '.join(f'{run.name} {_had(run, tokens=False)}' for run in runs)}"
    tokens = [run.tokens for run in runs if run.tokens]
    if len(tokens) == len(runs) and max(tokens) <= TOLERANCE * min(tokens):
        return None
    return f"budgets differ: {', '.join(f'{run.name} {_had(run)}' for run in runs)}"


def _had(run: ComparedRun, *, tokens: bool = True) -> str:
    """What one of them was trained with."""
    if run.seconds is None or run.tokens is None:
        return "not known"
    minutes = f"{run.seconds / 60:.1f} min" if run.seconds >= 60 else format_duration(run.seconds)
    return f"{format_count(run.tokens)} tokens in {minutes}" if tokens else minutes


def _text_bits(run: ComparedRun) -> str:
    cell = _figure_cell(run.text_bits_per_byte, ".3f")
    return f"≤ {cell}" if run.text_bound and run.text_bits_per_byte else cell


def _figure_cell(figure: Figure | None, form: str) -> str:
    """A figure with its interval in one cell."""
    if figure is None:
        return "–"
    value, interval = with_interval(figure, form)
    return f"{value} ({interval.replace(' – ', '–')})"
