"""Text that a model wrote: as it is written on a terminal, and as a page when it is there.

In: drafts, then a `Generated`. Out: a panel on stderr that moves and goes, where stdout is a terminal; and a page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask import progress
from unmask.console.layout import fact_line
from unmask.results import Generated

DRAFTS = 4  # that are shown while they are written
METHODS = {
    "diffusion": "masked diffusion",
    "masked": "masked language model",
    "causal": "left to right",
    "spans": "spans by sentinels",
}


@contextmanager
def writing_display() -> Iterator[Callable[[list[str]], None] | None]:
    """While open, something that shows drafts; none where nobody would see them move."""
    if not (progress.is_watched() and sys.stdout.isatty() and progress.console().is_terminal):
        yield None
        return
    from rich.live import Live

    with Live(console=progress.console(), transient=True, auto_refresh=False) as screen:
        yield lambda drafts: screen.update(_draw_drafts(drafts), refresh=True)


def _draw_drafts(drafts: list[str]) -> RenderableType:
    """Some drafts, and how many more there are."""
    lines = [Padding(Text(visible(draft), style="dim"), (0, 2)) for draft in drafts[:DRAFTS]]
    more = [Text(f"  and {len(drafts) - DRAFTS} more", style="dim")] if len(drafts) > DRAFTS else []
    return Group(*lines, *more)


def draw_generated(result: Generated) -> RenderableType:
    """The text, what the model wrote of it in bold, and how it came about."""
    text = Text(visible(result.text))
    for begin, end in result.places:
        text.stylize("bold", begin, end)
    what = f"{len(result.tokens):,} tokens in {result.steps:,} steps · {METHODS[result.method]}"
    if result.ended is not None:
        what += " · ended by the model"
    note = [Padding(Text(result.note, style="yellow"), (0, 2))] if result.note else []
    seed = f"seed {result.seed}" + (f", sample {result.sample}" if result.sample else "")
    return Group(Padding(text, (0, 2)), Text(""), fact_line("written", what), fact_line("from", seed), *note, Text(""))


def visible(text: str) -> str:
    """A text without what a terminal would obey; a character for each, so that places stay.

    >>> visible("a\\x1b[2Jb\\n")
    'a�[2Jb\\n'
    """
    return "".join(each if each.isprintable() or each == "\n" else "�" for each in text)
