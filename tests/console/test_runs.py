"""Runs for people, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from unmask.console.runs import draw_panel, draw_run, draw_runs, final_line, validation_line
from unmask.results import FigureTitle, RunList, RunStatus, Validation

LAST = Validation(90, {"loss": 4.25, "accuracy": 0.125})
BEST = Validation(80, {"loss": 4.0, "accuracy": 0.15})
TITLES = (FigureTitle("loss", "Loss"), FigureTitle("accuracy", "Accuracy", better="more", percent=True))
RUN = RunStatus(
    path=Path("runs/[bold]first[/bold]"),
    state="running",
    recipe="mini",
    titles=TITLES,
    step=95,
    steps=200,
    tokens=389_120,
    figures={"loss": 4.5, "accuracy": 0.1, "lr": 3e-3},
    tokens_per_second=4321.0,
    seconds=90.0,
    seconds_left=99.0,
    best=BEST,
    last=LAST,
    final=None,
    validations=(Validation(0, {"loss": 9.0}), Validation(70, {"loss": nan}), BEST, LAST),
    age=2.0,
)


def printed(what: RenderableType) -> str:
    terminal = Console(width=80, no_color=True, force_terminal=False)
    with terminal.capture() as capture:
        terminal.print(what)
    assert "…" not in capture.get() and max(map(len, capture.get().splitlines())) <= 80
    return capture.get()


def test_a_live_run_has_its_bar_its_figures_and_its_curve() -> None:
    text = printed(draw_panel(RUN))
    for said in (
        "[bold]first[/bold]",
        "48%",
        "1 min 39 s left",
        "95 of 200",
        "4,321",
        "3.00e-03",
        "█▁▁",
        "loss 4.250, accuracy 12.5%",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("running", "still running"),
        ("finished", "it came to its end"),
        ("stopped", "it can go on"),
        ("damaged", "run.json: its hash"),
    ],
)
def test_the_state_is_said_with_what_one_may_do(state: str, said: str) -> None:
    problem = "run.json: its hash does not hold" if state == "damaged" else ""
    text = printed(draw_run(replace(RUN, state=state, problem=problem, next=("unmask this", "unmask that"))))
    assert text.startswith(f"{state.capitalize()} runs/") and said in text
    assert "  next  unmask this\n  next  unmask that\n" in text


def test_a_run_that_stopped_when_asked_to_is_not_said_to_have_died_perhaps() -> None:
    stopped = replace(RUN, state="stopped")
    assert "process died" in printed(draw_run(stopped))
    assert "process died" not in printed(draw_run(replace(stopped, stopped_in_order=True)))


def test_a_stopped_run_is_listed_with_the_command_that_goes_on_in_one_line_however_long(tmp_path: Path) -> None:
    command = f"unmask pretrain --resume '{'a long way/' * 12}run'"
    stopped = replace(RUN, state="stopped", next=(command,))
    finished = replace(RUN, state="finished", next=("unmask fill run 'A [MASK].'",))
    terminal = Console(width=80, no_color=True, force_terminal=False)
    for runs, commands in (((stopped, finished), [command]), ((finished,), ["unmask fill run 'A [MASK].'"])):
        with terminal.capture() as capture:
            terminal.print(draw_runs(RunList(folders=(tmp_path,), runs=runs)), crop=False)
        listed = [line.strip().removeprefix("next  ") for line in capture.get().splitlines()]
        assert [line for line in listed if line.startswith("unmask ")] == commands


def test_what_is_not_known_is_left_out() -> None:
    nothing = replace(RUN, steps=None, step=0, figures={}, best=None, last=None, validations=())
    text = printed(draw_run(nothing))
    assert "nan" not in text and "None" not in text and "accuracy" not in text
    assert "timing its steps" in printed(draw_panel(replace(nothing, seconds_left=None)))


def test_runs_are_listed_with_their_best_and_last_figures() -> None:
    broken = replace(RUN, path=Path("runs/second"), state="damaged", problem="run.json: its hash does not hold")
    text = printed(draw_runs(RunList(folders=(Path("runs"),), runs=(RUN, broken))))
    assert "Found runs  2 runs" in text and "running" in text and "damaged  runs/second" in text
    facts = "mini · 95 of 200 steps · 389.1 k tokens · held out loss 4.250, accuracy 12.5% · best"
    assert facts in " ".join(text.split())
    assert "its hash does not hold" in text
    assert "0 runs" in printed(draw_runs(RunList(folders=(Path(),), runs=())))


def test_a_validation_is_one_line_of_a_log() -> None:
    assert validation_line(RUN, LAST) == "step 90 of 200 · held out loss 4.250, accuracy 12.5%"
    assert final_line(RUN, Validation(200, {"loss": 4.0})) == "the end · all that is held out loss 4.000"
