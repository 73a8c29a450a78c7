"""The parts that pages are made of: a headline, a table, a fact, a command to copy; sizes and times as people say them.

In: plain strings and numbers. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

BAR = 24  # cells of a bar for a probability of one
EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(part: float, width: int = BAR) -> str:
    """A bar for a part of one, to an eighth of a cell.

    >>> bar(0.5, width=4), bar(0.28, width=4), bar(0.0)
    ('██', '█▏', '')
    """
    eighths = round(part * width * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).strip()


def size(count: int) -> str:
    """Bytes as people say them.

    >>> size(999), size(12_345_678)
    ('999 B', '12.3 MB')
    """
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(4.23), duration(312), duration(7500)
    ('4.2 s', '5 min 12 s', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def brief(count: float) -> str:
    """A count in few characters.

    >>> brief(999), brief(4096), brief(1_874_586), brief(3.2e9)
    ('999', '4.1 k', '1.9 M', '3.2 G')
    """
    amount, unit = float(count), ""
    for larger in ("k", "M", "G", "T", "P", "E", "Z", "Y"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, f" {larger}"
    return f"{amount:.1f}{unit}" if unit else f"{amount:.0f}"


def ago(seconds: float) -> str:
    """How long something is ago, to one unit.

    >>> ago(12.3), ago(150), ago(7500), ago(300_000)
    ('12 s', '2 min', '2 h', '3 d')
    """
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def table(heads: tuple[str, ...], rows: Iterable[tuple[str | Text, ...]], numbers: tuple[int, ...]) -> Table:
    """Rows under their heads; `numbers` are the columns that are set to the right."""
    made = Table(box=box.SIMPLE_HEAD, show_header=any(heads), show_edge=False, padding=(0, 1))
    for place, head in enumerate(heads):
        made.add_column(head, justify="right" if place in numbers else "left")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def headline(what: str, path: Path, more: str) -> Text:
    """What was done, to what, and the rest of the line."""
    return Text.assemble((f"{what} ", "bold green"), (str(path), "bold"), f"  {more}")


def fact(name: str, value: str) -> Text:
    """A name and what belongs to it."""
    return Text.assemble("  ", (f"{name}  ", "dim"), value)


def next_command(command: str) -> Text:
    """What one may do now; never wrapped, for it is there to be copied."""
    return Text.assemble("  ", ("next  ", "dim"), (command, "cyan"), no_wrap=True, overflow="ignore")


def page(*parts: RenderableType) -> RenderableType:
    """Parts one below the other, an empty line after each."""
    spaced = [each for part in parts for each in (part, Text(""))]
    return Group(*spaced)
