"""Taggers and the entities they find, for people in a terminal.

In: results. Out: parts of pages at 80 columns, without colour too.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table
from unmask.quantities import format_probability, with_interval
from unmask.results import JudgedTags, Tagged

KINDS = 12  # of entities that are shown, the worst of them where there are more
AROUND = 60  # characters of a long text on both sides of its entities
FEW = 100  # entities, below which one more or less moves a figure by a point


def tag_sections(test: JudgedTags, what: str) -> list[RenderableType]:
    """The figures of test, the kinds of entities and what to mind."""
    rows = [("this model", f"{test.precision:.1%}", f"{test.recall:.1%}", *with_interval(test.f1, ".1%"))]
    rows += [
        (way.name, f"{way.precision:.1%}", f"{way.recall:.1%}", *with_interval(way.f1, ".1%")) for way in test.baselines
    ]
    alone = (("strict", test.strict_f1), ("conlleval", test.conlleval_f1))
    rows += [(f"each tag alone, {name}", "", "", *with_interval(figure, ".1%")) for name, figure in alone]
    heads = (f"on {test.entities:,} {what}", "precision", "recall", "F1", "95 % interval")
    worst = sorted(test.labels, key=lambda kind: kind.f1)[:KINDS]
    kinds = [
        (kind.label, f"{kind.entities:,}", f"{kind.precision:.1%}", f"{kind.recall:.1%}", f"{kind.f1:.1%}")
        for kind in test.labels
        if kind in worst
    ]
    title = "label" if len(kinds) == len(test.labels) else f"worst of {len(test.labels)} labels"
    return [
        draw_table(heads, rows, numbers=(1, 2, 3, 4)),
        draw_table((title, "entities", "precision", "recall", "F1"), kinds, numbers=(1, 2, 3, 4)),
        *([Padding(Text(" ".join(notes)), (0, 1))] if (notes := _tag_notes(test)) else []),
    ]


def _tag_notes(test: JudgedTags) -> list[str]:
    """What to mind of the figures."""
    lines = []
    if test.unseen:
        lines.append(
            f"{test.unseen:,} of the entities are new, none in train: {test.unseen_recall:.1%} of them are found."
        )
    if test.misaligned:
        lines.append(f"{test.misaligned:,} entities begin or end within a word: they count as missed.")
    if test.empty:
        lines.append(f"{test.empty:,} test texts without a word are left out.")
    if test.entities < FEW:
        lines.append(f"Only {test.entities:,} entities: each of them moves the figures by more than a point.")
    if test.errors:
        lines.append(
            f"The surest errors ({len(test.errors)}) are in tuned.json, to be read: some may be errors of the file."
        )
    return lines


def draw_tagged(result: Tagged) -> RenderableType:
    """A text with its entities marked, and a line for each of them."""
    marked = Text()
    place = 0
    for entity in result.entities:
        marked.append(_shortened(result.text[place : entity.start], first=place == 0))
        marked.append(entity.text, style="bold green")
        place = entity.end
    marked.append(_shortened(result.text[place:], first=place == 0, last=True))
    rows = [
        (entity.text, entity.label, format_probability(entity.probability), f"{entity.start:,}–{entity.end:,}")
        for entity in result.entities
    ]
    table = draw_table(("entity", "label", "probability", "characters"), rows, numbers=(2, 3))
    reading = f"{result.tokens_read:,} tokens in {result.windows:,} windows"
    return draw_page(
        marked,
        table if rows else Text("  no entities", style="dim"),
        *([Text(f"  {reading}")] * (result.windows > 1)),
    )


def _shortened(text: str, *, first: bool = False, last: bool = False) -> str:
    """What stands between two entities, without the middle where it is long."""
    if len(text) <= 2 * AROUND + 1:
        return text
    return f"{'' if first and not last else text[:AROUND]}…{'' if last and not first else text[-AROUND:]}"
