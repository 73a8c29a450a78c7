"""Runs and plans for people, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from unmask.console.dashboard import draw_plan, draw_run, draw_runs, panel, validation_line
from unmask.results import FigureTitle, Listed, Planned, Suggested, Took, Validation, Watched

LAST = Validation(90, {"loss": 4.25, "accuracy": 0.125})
BEST = Validation(80, {"loss": 4.0, "accuracy": 0.15})
TITLES = (FigureTitle("loss", "Loss"), FigureTitle("accuracy", "Accuracy", better="more", percent=True))
RUN = Watched(
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
    validations=(Validation(0, {"loss": 9.0}), Validation(70, {"loss": nan}), BEST, LAST),
    age=2.0,
)

PLAN = Planned(
    recipe="base",
    vocabulary=30_522,
    length=512,
    batch_size=64,
    micro_batch=8,
    hardware="8 × A100",
    devices=8,
    precision="bfloat16",
    parameters=109_015_866,
    by_optimizer={"muon": 84_934_656, "adamw": 24_081_210},
    flops_per_token=5.996e8,
    flops_per_step=2.12e13,
    memory={"weights": 436_063_464, "activations": 1_700_000_000},
    memory_there=80_000_000_000,
    checkpoint=968_500_000,
    peak=3.12e14,
    utilisation=0.4,
    seconds_per_step=0.0319,
    steps=91_553,
    tokens=3_000_008_704,
    passes=1.5,
    flops=1.94e18,
    seconds=2918.0,
    suggested=Suggested(
        micro_batch=32, batch_size=256, learning_rates={"muon": 0.02, "adamw": 0.002}, precision="bfloat16"
    ),
)


def printed(what: RenderableType) -> str:
    terminal = Console(width=80, no_color=True, force_terminal=False)
    with terminal.capture() as capture:
        terminal.print(what)
    assert "…" not in capture.get() and max(map(len, capture.get().splitlines())) <= 80
    return capture.get()


def test_a_live_run_has_its_bar_its_figures_and_its_curve() -> None:
    text = printed(panel(RUN))
    for said in (
        "[bold]first[/bold]",
        "48%",
        "1 min 39 s left",
        "95 of 200",
        "4,321",
        "3.00e-03",
        "█▁▁",
        "4.250, 12.5%",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("running", "unmask watch"),
        ("finished", "unmask fill"),
        ("stopped", "--resume goes on"),
        ("damaged", "run.json: its hash"),
    ],
)
def test_the_state_is_said_with_what_one_may_do(state: str, said: str) -> None:
    problem = "run.json: its hash does not hold" if state == "damaged" else ""
    text = printed(draw_run(replace(RUN, state=state, problem=problem)))
    assert text.startswith(f"{state.capitalize()} runs/") and said in text


def test_what_is_not_known_is_left_out() -> None:
    nothing = replace(RUN, steps=None, step=0, figures={}, best=None, last=None, validations=())
    text = printed(draw_run(nothing))
    assert "nan" not in text and "None" not in text and "accuracy" not in text
    assert "timing its steps" in printed(panel(replace(nothing, seconds_left=None)))


def test_runs_are_listed_with_their_best_and_last_figures() -> None:
    broken = replace(RUN, path=Path("runs/second"), state="damaged", problem="run.json: its hash does not hold")
    text = printed(draw_runs(Listed(folders=(Path("runs"),), runs=(RUN, broken))))
    assert "Found runs  2 runs" in text and "running" in text and "damaged  runs/second" in text
    assert "mini · 95 of 200 steps · 389.1 k tokens · held out 4.250, 12.5% · best" in text
    assert "its hash does not hold" in text
    assert "0 runs" in printed(draw_runs(Listed(folders=(Path(),), runs=())))


def test_a_validation_is_one_line_of_a_log() -> None:
    assert validation_line(RUN, LAST) == "step 90 of 200 · held out 4.250, 12.5%"
    assert validation_line(RUN, Validation(200, {"loss": 4.0}, True)) == "step 200 of 200 · held out 4.000 · the end"


def test_a_plan_says_what_it_takes_and_what_to_do() -> None:
    text = printed(draw_plan(PLAN))
    for said in ("109,015,866", "599.6 MFLOP", "21.2 TFLOP a step", "91,553 steps, 1.50 passes", "1.9 EFLOP"):
        assert said in text
    for said in (
        "48 min 38 s",
        "40% of 2.5 PFLOP/s",
        "968.5 MB",
        "2.1 GB",
        "80.0 GB",
        "--micro-batch 32 --batch-size 256",
    ):
        assert said in text


def test_a_plan_without_a_budget_or_a_clock_leaves_them_out() -> None:
    unknown = replace(PLAN, steps=None, tokens=None, passes=None, flops=None, seconds=None, seconds_per_step=None)
    text = printed(draw_plan(replace(unknown, utilisation=None)))
    assert "None" not in text and "in all" in text and "time" not in text


def test_a_plan_is_compared_with_a_run() -> None:
    took = Took(run=Path("run"), steps=10, planned=30.0, took=25.0, tokens_planned=4096, tokens=4000)
    text = printed(draw_plan(replace(PLAN, compared=took)))
    assert "Compared run" in text and "30.0 s" in text and "25.0 s  (+20%)" in text
