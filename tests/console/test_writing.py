"""Text that is written, for somebody who looks: on a terminal, elsewhere, and afterwards."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from unmask import progress
from unmask.console.writing import draw_generated, writing_display
from unmask.results import Generated

RESULT = Generated(
    text="The river runs on.\x1b[2J",
    places=((10, 18),),
    tokens=("runs", "on", "."),
    ended=3,
    steps=2,
    method="diffusion",
    seed=4,
    sample=1,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    monkeypatch.setattr(sys, "stdout", Terminal() if terminal else io.StringIO())
    said = io.StringIO()
    console = Console(file=said, width=80, force_terminal=True)
    with progress.show_progress(console), writing_display() as show:
        if show:
            show(["The river · ·", *["A draft"] * 5])
            show(["The river runs ·", *["A draft"] * 5])
    return said.getvalue()


def test_drafts_move_where_stdout_is_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    moving = shown(monkeypatch, terminal=True)
    assert "The river · ·" in moving
    assert "The river runs ·" in moving
    assert "and 2 more" in moving
    assert "river" not in shown(monkeypatch, terminal=False)


def test_nothing_is_shown_in_a_library_call() -> None:
    with writing_display() as show:
        assert show is None


def test_the_page_has_the_text_how_it_was_made_and_nothing_that_a_terminal_obeys() -> None:
    console = Console(width=80, record=True, file=io.StringIO(), color_system=None)
    console.print(draw_generated(RESULT))
    page = console.export_text()
    assert "The river runs on.�[2J" in page
    assert "written  3 tokens in 2 steps · masked diffusion · ended by the model\n" in page
    assert "from  seed 4, sample 1" in page
    assert max(map(len, page.splitlines())) <= 80
