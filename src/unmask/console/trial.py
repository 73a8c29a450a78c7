"""What rules would do to a sample: a table of all, and examples of each.

In: a `RulesTried`. Out: tables, and excerpts to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table
from unmask.quantities import format_bytes, format_duration, spell_counts
from unmask.results import Figure, RuleExample, RulesTried, RuleTrial, TrainedSample

WIDEST = 50  # characters of a source; the end of a path tells most
HEADS = ("rule", "drops", "share", "only it", "changes", "stays within")


def draw_tried(result: RulesTried) -> RenderableType:
    """The rules, most first, and ten examples of each that does something."""
    sample = (
        f"a sample of {result.documents:,} documents, {format_bytes(result.bytes)}; {format_duration(result.seconds)}"
    )
    share = result.dropped / max(1, result.documents)
    bytes_share = result.dropped_bytes / max(1, result.bytes)
    active = [row for row in result.rules if row.dropped or row.changed]
    idle = [row.name for row in result.rules if not (row.dropped or row.changed)]
    first, *others = result.sources
    more = f" and {len(others)} more" if others else ""
    told = [f"languages: {spell_counts(result.languages)}"] if result.languages else []
    together = (
        f"together they would drop {result.dropped:,} documents, {share:.1%}, with {bytes_share:.1%} of the bytes"
    )
    nothing = [f"nothing is dropped or changed by: {', '.join(idle)}"] if idle else []
    return draw_page(
        Text.assemble(("Tried ", "bold green"), (f"{first}{more}", "bold"), f"  {sample}"),
        draw_table(HEADS, [_row(row, result.documents) for row in active], numbers=(1, 2, 3, 4)),
        *(Padding(Text(line), (0, 1)) for line in (*told, together, *nothing)),
        *_trained(result),
        *(_examples(row) for row in active),
        Padding(Text("nothing was written; without --try, the rules are applied"), (0, 1)),
    )


def _trained(result: RulesTried) -> Iterator[RenderableType]:
    """What models learnt, and whether anybody can say which is better."""
    if not result.trained:
        return
    rows = [
        (
            row.name,
            f"{row.documents:,}",
            _plus_minus(row.bits_per_byte, ".3f"),
            _plus_minus(row.beyond_no_rule, "+.3f") if row.beyond_no_rule else "",
        )
        for row in result.trained
    ]
    yield draw_table(("trained with", "documents", "bits/byte, 95 %", "beyond no rule"), rows, numbers=(1, 2, 3))
    first, *others = result.trained
    told = "; ".join(_apart(others)) or "no rule differs by more than the documents it was measured on do"
    yield Padding(
        Text(
            f"{first.steps:,} steps each, one seed, measured on {result.measured_on:,} documents that all rules keep, "
            f"differences document by document; {told}"
        ),
        (0, 1),
    )


def _plus_minus(figure: Figure, form: str) -> str:
    """A figure with half of its interval, which is as wide on both sides.

    >>> _plus_minus(Figure(2.5, 2.25, 2.75), ".2f")
    '2.50 ± 0.250'
    """
    half = (figure.high - figure.low) / 2
    return f"{figure.value:{form}} ± {half:.3f}" if isfinite(half) else f"{figure.value:{form}}"


def _apart(rows: Sequence[TrainedSample]) -> Iterator[str]:
    """The rules whose differences are above or below nothing, in words."""
    figures = {row.name: row.beyond_no_rule for row in rows if row.beyond_no_rule is not None}
    for word, names in (
        ("fewer", [name for name, figure in figures.items() if figure.high < 0]),
        ("more", [name for name, figure in figures.items() if figure.low > 0]),
    ):
        if names:
            yield f"{word} bits than without rules: {', '.join(names)}"


def _row(row: RuleTrial, documents: int) -> tuple[str, ...]:
    dropped = (
        (f"{row.dropped:,}", f"{row.dropped / max(1, documents):.1%}", f"{row.only:,}") if row.dropped else ("", "", "")
    )
    return row.name, *dropped, f"{row.changed:,}" if row.changed else "", _range(row.low, row.high)


def _range(low: float | None, high: float | None) -> str:
    """Limits in words.

    >>> _range(50, 100_000), _range(None, 0.1), _range(0.8, None), _range(None, None)
    ('50 – 100,000', '≤ 0.1', '≥ 0.8', '')
    """
    if low is not None and high is not None:
        return f"{low:,} – {high:,}"
    if low is not None:
        return f"≥ {low:,}"
    return f"≤ {high:,}" if high is not None else ""


def _examples(row: RuleTrial) -> RenderableType:
    meaning = f"  {row.measures}" if row.measures else ""
    title = Text.assemble(" ", (row.name, "bold"), meaning)
    return Group(title, *(Padding(line, (0, 0, 0, 3)) for example in row.examples for line in _example(example)))


def _example(example: RuleExample) -> Iterator[Text]:
    value = (
        ""
        if example.value is None
        else f"{example.value:.4g}  "
        if isinstance(example.value, float)
        else f"{example.value}  "
    )
    source = example.source if len(example.source) <= WIDEST else f"…{example.source[-WIDEST:]}"
    place = f"{source}:{example.line}"
    yield Text.assemble((value, "yellow"), (place, "dim"), overflow="ellipsis", no_wrap=True)
    yield Text(f"  {example.excerpt}", overflow="ellipsis", no_wrap=True)
