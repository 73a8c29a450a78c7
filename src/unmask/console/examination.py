"""A machine for people: what it has, how fast it is, what is in the way and what follows.

In: `Examined`. Out: what a console of rich prints, at 80 columns and without colour too. And `Verbatim`: a text that is
for a program, which nothing may wrap or colour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, title_line
from unmask.quantities import format_bytes, format_count
from unmask.results import Examined

VERSIONS = ("torch", "transformers", "tokenizers", "numpy")  # that people ask for; the others only if they are wrong


@dataclass(frozen=True)
class Verbatim:
    """A text as it is."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Give it away untouched."""
        yield Segment(self.text)


def draw_examination(examined: Examined) -> RenderableType:
    """The machine, its extras, and what is in the way."""
    verdict = f"{len(examined.problems)} in the way" if examined.problems else "nothing is in the way"
    sections: list[RenderableType] = [
        title_line("Examined", examined.folder, f"{examined.system}: {verdict}"),
        draw_table(("", ""), _facts(examined), numbers=()),
        draw_table(("extra", "", "what it brings"), _extras(examined), numbers=()),
    ]
    for lines, style in ((examined.problems, "red"), (examined.advice, "")):
        sections += (
            [Padding(Text("\n").join(Text(f"• {line}", style=style) for line in lines), (0, 2))] if lines else []
        )
    return draw_page(*sections)


def _facts(examined: Examined) -> Iterator[tuple[str, str]]:
    yield "unmask", f"{examined.unmask}, Python {examined.python}"
    for library in examined.libraries:
        if library.name in VERSIONS or library.problem:
            yield library.name, " · ".join(part for part in (library.version, library.problem) if part)
    threads = f", torch computes with {examined.threads}" if examined.threads is not None else ""
    yield "cores", f"{examined.cores}{threads}"
    free = f", {format_bytes(examined.memory_free)} free" if examined.memory_free is not None else ""
    yield "memory", f"{format_bytes(examined.memory)}{free}"
    yield "disk", f"{format_bytes(examined.disk_free)} free"
    for gpu in examined.gpus:
        yield "GPU", f"{gpu.name}, {format_bytes(gpu.memory)}" if gpu.memory is not None else gpu.name
    if not examined.gpus and examined.threads is not None:
        yield "GPU", "none that torch finds"
    for precision, speed in examined.speeds.items():
        yield f"products in {precision}", f"{format_count(speed)}FLOP/s"


def _extras(examined: Examined) -> Iterator[tuple[str, str, str]]:
    for extra in examined.extras:
        yield extra.name, "missing" if extra.missing else "there", extra.brings
        if extra.missing:
            yield "", "", extra.command
