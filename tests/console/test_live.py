"""A run that goes on, for somebody who watches: on a terminal, in a log, and nobody."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from unmask import progress
from unmask.console.live import live_display
from unmask.results import FigureTitle, RunStatus, Validation

BEGUN = RunStatus(
    path=Path("run"),
    state="running",
    recipe="tiny",
    titles=(FigureTitle("loss", "Loss"), FigureTitle("accuracy", "Accuracy", better="more", percent=True)),
    step=0,
    steps=10,
    tokens=0,
    figures={},
    tokens_per_second=None,
    seconds=0.0,
    seconds_left=None,
    best=None,
    last=None,
    validations=(),
    final=None,
    age=0.0,
)
FIRST = Validation(8, {"loss": 2.2, "accuracy": 0.08})
SECOND = Validation(9, {"loss": 2.1, "accuracy": 0.09})
THIRD = Validation(10, {"loss": 2.0, "accuracy": 0.1})
FINAL = Validation(10, {"loss": 2.3, "accuracy": 0.07})
LOOKS = (
    BEGUN,
    replace(BEGUN, step=8, seconds_left=4.0, validations=(FIRST,)),
    replace(BEGUN, step=8, seconds_left=4.0, validations=(FIRST,)),
    replace(BEGUN, step=10, seconds_left=0.0, validations=(FIRST, SECOND, THIRD)),
    replace(BEGUN, step=10, state="finished", validations=(FIRST, SECOND, THIRD), final=FINAL),
)


def shown(**console: bool) -> str:
    said = io.StringIO()
    with progress.show_progress(Console(file=said, width=80, **console)), live_display() as show:  # type: ignore[arg-type]
        for now in LOOKS:
            show(now)
    return said.getvalue()


def test_a_log_gets_a_line_for_each_new_validation() -> None:
    assert shown().splitlines() == [
        "step 8 of 10 · held out loss 2.200, accuracy 8.0%",
        "step 9 of 10 · held out loss 2.100, accuracy 9.0%",
        "step 10 of 10 · held out loss 2.000, accuracy 10.0%",
        "the end · all that is held out loss 2.300, accuracy 7.0%",
    ]


def test_a_terminal_gets_a_panel_that_moves() -> None:
    text = shown(force_terminal=True)
    assert all(part in text for part in ("timing its steps", "80%", "4.0 s left", "100%", "█▅▁", "Finished"))


def test_nobody_is_shown_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with live_display() as show:
        show(LOOKS[-1])
    assert capsys.readouterr() == ("", "")
