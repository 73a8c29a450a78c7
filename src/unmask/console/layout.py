"""The parts that pages are made of: a headline, a table, a fact, a command to copy.

In: plain strings. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

UNWRAPPED: dict[str, Any] = {"no_wrap": True, "overflow": "ignore"}  # of a text that is there to be copied


def draw_table(heads: tuple[str, ...], rows: Iterable[tuple[str | Text, ...]], numbers: tuple[int, ...]) -> Table:
    """Rows under their heads; `numbers` are the columns that are set to the right."""
    grid = Table(box=box.SIMPLE_HEAD, show_header=any(heads), show_edge=False, padding=(0, 1))
    for place, head in enumerate(heads):
        # a name that is too long goes on below, for the rest of it may be what tells it from others
        overflow: Literal["fold", "ellipsis"] = "fold" if place == 0 else "ellipsis"
        grid.add_column(head, justify="right" if place in numbers else "left", overflow=overflow)
    for row in rows:
        grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return grid


def title_line(verb: str, path: Path, detail: str) -> Text:
    """What was done, to what, and the rest of the line."""
    return Text.assemble((f"{verb} ", "bold green"), (str(path), "bold"), f"  {detail}")


def fact_line(name: str, value: str) -> Text:
    """A name and what belongs to it."""
    return Text.assemble("  ", (f"{name}  ", "dim"), value)


def next_command(command: str) -> Text:
    """What one may do now; never wrapped, for it is there to be copied."""
    return Text.assemble("  ", ("next  ", "dim"), (command, "cyan"), **UNWRAPPED)


def next_commands(commands: Iterable[str]) -> RenderableType:
    """Several of them, one below the other."""
    return Group(*map(next_command, commands))


def draw_page(*sections: RenderableType) -> RenderableType:
    """Parts one below the other, an empty line after each."""
    spaced = [renderable for section in sections for renderable in (section, Text(""))]
    return Group(*spaced)
