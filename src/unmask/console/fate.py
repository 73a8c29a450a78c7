"""What became of a document, for people: the step that left it out, the rule, and both texts side by side."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, title_line
from unmask.results import Fate, KeptDocument, RemovedDocument, UnreadLine

STEPS = {
    "empty": "nothing was left of it after cleaning",
    "short": "shorter than --min-characters",
    "duplicate": "the same text as one that is kept",
    "near-duplicate": "nearly the same text as one that is kept",
}


def draw_fate(fate: Fate) -> RenderableType:
    """Every document of the number or the place."""
    return draw_page(
        title_line("Why", fate.path, fate.asked),
        *map(_draw_removed, fate.removed),
        *map(_draw_kept, fate.kept),
        *map(_draw_unread, fate.unread),
    )


def removal_reason(document: RemovedDocument) -> str:
    """Why a document was left out, in a line."""
    if document.step == "rule":
        figures = f" {document.value:.6g}" if document.value is not None else ""
        figures += f", and the limit is {document.limit:.6g}" if document.limit is not None else ""
        words = f" {document.detail}" if document.detail else ""
        return f"the rule {document.rule}:{figures}{words}"
    similarity = f", similarity {document.similarity:.3f}" if document.step == "near-duplicate" else ""
    return STEPS.get(document.step, document.step) + similarity


def _draw_removed(document: RemovedDocument) -> RenderableType:
    lines: list[RenderableType] = [
        _place("left out", "red", document.number, document.source, document.line),
        Padding(Text(removal_reason(document)), (0, 4)),
        _excerpt(document.excerpt),
    ]
    if document.twin is not None:
        lines += [Text(""), _draw_kept(document.twin)]
    return Group(*lines)


def _draw_kept(document: KeptDocument) -> RenderableType:
    head = _place("kept", "green", document.number, document.source, document.line)
    return Group(head, Padding(Text(f"in {document.split}"), (0, 4)), _excerpt(document.excerpt))


def _draw_unread(line: UnreadLine) -> RenderableType:
    place = f"{line.source}:{line.line}" if line.line else line.source
    head = Text.assemble("  ", ("could not be read", "bold red"), f"  {place}")
    return Group(head, Padding(Text(line.reason), (0, 4)), *([_excerpt(line.excerpt)] if line.excerpt else []))


def _place(fate: str, style: str, number: int, source: str, line: int) -> Text:
    return Text.assemble(
        "  ", (fate, f"bold {style}"), f"  document {number:,}", ("  ", ""), (f"{source}:{line}", "dim")
    )


def _excerpt(text: str) -> RenderableType:
    return Padding(Text(text, style="dim"), (0, 4))
