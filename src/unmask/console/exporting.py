"""What was written to a file, and how near an exported model is to what it was, for people.

In: a result of `unmask.results`. Out: its page.
"""

from __future__ import annotations

from rich.console import RenderableType

from unmask.console.layout import draw_page, draw_table, next_command, title_line
from unmask.quantities import format_bytes
from unmask.results import Exported, Written


def draw_written(result: Written) -> RenderableType:
    """How many lines a file has got."""
    rows = [("lines", f"{result.lines:,}")]
    if result.continued_after:
        rows.append(("went on after line", f"{result.continued_after:,}"))
    if result.refused:
        rows.append(("refused, with their errors", f"{result.refused:,}"))
    return draw_page(title_line("Wrote", result.path, "a line of JSON each"), draw_table(("", ""), rows, numbers=(1,)))


def draw_exported(result: Exported) -> RenderableType:
    """What was written, and how near it is to the model."""
    rows = [("output", result.output)]
    if result.texts:
        rows.append(("texts compared", f"{result.texts:,}"))
    if result.hidden is not None:
        rows.append(("hidden tokens", f"{result.hidden:,}"))
    if result.cosine is not None:
        rows.append(("mean cosine" if result.to == "int8" else "least cosine", f"{result.cosine:.6f}"))
    if result.same_fills is not None:
        rows.append(("best fills the same", f"{result.same_fills:.1%}"))
    if result.accuracy is not None:
        rows.append(("accuracy, before and after", " → ".join(f"{share:.1%}" for share in result.accuracy)))
    if result.speed is not None:
        rows.append(("times as fast as torch", f"{result.speed:.2f}"))
    head = title_line("Exported", result.path, f"{result.to}, {format_bytes(result.bytes)}")
    return draw_page(head, draw_table(("", ""), rows, numbers=(1,)), next_command(f"less {result.path}/README.md"))
