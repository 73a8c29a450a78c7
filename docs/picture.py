"""Draws docs/demo.svg: what `unmask demo` tells, recorded.

python docs/picture.py --minutes 2.5
"""

from __future__ import annotations

import io
import tempfile
from contextlib import chdir
from pathlib import Path

import tyro
from rich.console import Console
from rich.terminal_theme import MONOKAI

from unmask.console.pages import draw_result
from unmask.demo.journey import demo
from unmask.progress import show_progress

PICTURE = Path(__file__).resolve().with_name("demo.svg")


def main(minutes: float = 2.5, out: Path = PICTURE) -> None:
    """Take the journey and keep what it said."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    with tempfile.TemporaryDirectory() as place, chdir(place), show_progress(console, moving=False):
        result = demo(Path("demo"), minutes, seed=0)
        console.print(draw_result(result))
    out.resolve().write_text(console.export_svg(title="make demo", theme=MONOKAI), encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main)
