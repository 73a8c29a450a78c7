"""The end of the demo, for people: what to do next.

In: a result of `unmask.results`. Out: its page.
"""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from rich.console import RenderableType

from unmask.console.layout import draw_page, next_command
from unmask.files import free_place
from unmask.results import Demonstrated
from unmask.runs.commands import train_command


def draw_demonstrated(result: Demonstrated) -> RenderableType:
    """What to do next."""
    data, run = result.prepared.path, result.trained.path
    bert, my_data, my_run = (free_place(place) for place in (run.parent / "bert", Path("my_data"), Path("my_run")))
    return draw_page(
        next_command(f"unmask fill {run} {quote(result.after[-1].text)}"),
        next_command(f"unmask show {data} {quote(result.shown)}"),
        next_command(f"unmask evaluate {run} {data}"),
        next_command(train_command(data, "--recipe", "bert-tiny", out=bert, minutes=2)),
        next_command(f"unmask compare {run} {bert} --data {data}"),
        next_command(f"unmask prepare my_texts/ --out {my_data}"),
        next_command(train_command(my_data, out=my_run)),
    )
