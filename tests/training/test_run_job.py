"""The runner, on arrays: what it asks for, what it logs, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from regression import job

from unmask.errors import BadInput, Refused
from unmask.files import sha256_of
from unmask.runs.directory import read_description
from unmask.training.budget import Budget
from unmask.training.job import FinishedRun
from unmask.training.observer import Saving
from unmask.training.run_job import run_job

SELDOM, OFTEN = (Saving(seconds=seconds, report=False) for seconds in (1e9, 0.0))


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def weights(finished: FinishedRun) -> str:
    return sha256_of(finished.path / "model" / "weights.safetensors")


@pytest.mark.parametrize(
    ("budget", "more", "line"),
    [
        (Budget(), {}, "how long? give --minutes, --steps, --tokens or --epochs"),
        (Budget(steps=2), {"workers": -1}, "--workers -1: give 0 or more"),
    ],
)
def test_what_cannot_begin_is_one_line_and_leaves_nothing_behind(
    budget: Budget, more: dict[str, Any], line: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as told:
        run_job(job(), tmp_path / "run", budget, **more)
    assert str(told.value) == line and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("steps", "between"), [(20, range(2, 20, 2)), (3, range(1, 3)), (1, range(0))])
def test_every_step_of_a_short_run_is_logged_and_the_start_the_tenths_and_the_end_are_measured(
    steps: int, between: range, tmp_path: Path
) -> None:
    run_job(job(), tmp_path / "run", Budget(steps=steps), saving=SELDOM)
    logged = lines(tmp_path / "run")
    assert [line["step"] for line in logged if "loss" in line] == list(range(1, steps + 1))
    assert [line["step"] for line in logged if "validation_r2" in line] == [0, *between, steps]
    assert [line["step"] for line in logged if "final_r2" in line] == [steps]
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == [f"step-{steps:07d}"]


def test_how_often_a_run_is_saved_changes_nothing_of_what_is_trained(tmp_path: Path) -> None:
    seldom, often = (
        run_job(job(), tmp_path / name, Budget(steps=6), saving=saving)
        for name, saving in (("seldom", SELDOM), ("often", OFTEN))
    )
    assert weights(seldom) == weights(often) and seldom.figures == often.figures


def test_a_run_that_goes_on_keeps_its_budget_where_none_is_given_and_refuses_another(tmp_path: Path) -> None:
    first = run_job(job(), tmp_path / "run", Budget(epochs=0.1), saving=SELDOM)
    assert first.steps == read_description(tmp_path / "run")["steps"] == 5
    assert run_job(job(), tmp_path / "run", Budget(), resume=True, saving=SELDOM).steps == 5
    with pytest.raises(Refused, match=r"--epochs: the run has 0\.1, asked for 0\.2"):
        run_job(job(), tmp_path / "run", Budget(epochs=0.2), resume=True, saving=SELDOM)
