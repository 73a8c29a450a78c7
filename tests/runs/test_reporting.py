"""What is told of a run besides its metrics, by real runs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from unmask import progress
from unmask.errors import Interrupted
from unmask.pretraining import pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.results import Trained
from unmask.runs import reporting
from unmask.runs.reporting import Reporter
from unmask.training.budget import Budget
from unmask.training.observer import Saving

TINY = recipe_named("tiny", length=32, batch_size=4, micro_batch=4)


def train(data: Path, out: Path, *, resume: bool = False) -> Trained:
    saving = Saving(seconds=0, tensorboard=True)
    return pretrain.pretrain(data, out, TINY, Budget(steps=6), resume=resume, saving=saving)


def test_a_run_has_its_report_and_events_when_it_is_stopped_and_when_it_has_ended(
    data: Path, tmp_path: Path, interrupted: Callable[..., AbstractContextManager[None]]
) -> None:
    run = tmp_path / "run"
    with interrupted(3), pytest.raises(Interrupted):
        train(data, run)
    assert 'class="state stopped"' in (run / "report.html").read_text()
    train(data, run, resume=True)
    page = (run / "report.html").read_text()
    assert 'class="state finished"' in page and "modernbert, tiny" in page
    documents = json.loads((data / "manifest.json").read_text())["counts"]["train"]
    assert f"{data}: {documents} documents" in page
    assert (run / "plot.png").exists()
    logged = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    read = EventAccumulator(str(run / "tensorboard"))
    read.Reload()
    for name, figure in (("loss/training", "loss"), ("loss/held_out", "validation_loss")):
        expected = [(line["step"], pytest.approx(line[figure])) for line in logged if figure in line]
        assert [(each.step, each.value) for each in read.Scalars(name)] == expected


def test_a_report_that_cannot_be_written_is_a_line_and_no_more(tmp_path: Path) -> None:
    said = io.StringIO()
    with progress.show_progress(Console(file=said, width=200)):
        Reporter(tmp_path / "[no] run", {}).write(going_on=False)
    assert said.getvalue().startswith("no report: BadInput: ") and "[no] run" in said.getvalue()
    with progress.show_progress(Console(file=said)):
        Reporter(tmp_path, {}, enabled=False).write(going_on=False)
    assert said.getvalue().count("\n") == 1


def test_a_run_that_goes_on_is_drawn_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []
    monkeypatch.setattr(reporting, "write_report", lambda path, facts, *, going_on: written.append(path))
    reporter = Reporter(tmp_path, {})
    reporter.write_if_due()
    assert not written
    reporter = replace(reporter, write_time=reporter.write_time - reporting.SELDOM)
    reporter.write_if_due()
    reporter.write_if_due()
    assert written == [tmp_path]
