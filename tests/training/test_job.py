"""The seam holds: what is no text trains, stops, goes on, is shared out, keeps its best moment and is drawn."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import processes
import pytest
import regression
from regression import TITLES, job

from unmask.errors import Interrupted, Refused, Terminated
from unmask.files import sha256_of
from unmask.runs.history import read_history, summarize_run
from unmask.training import checkpoint
from unmask.training.budget import Budget
from unmask.training.job import FinishedRun
from unmask.training.observer import Saving
from unmask.training.run_job import run_job

STEPS = 60
OFTEN = Saving(seconds=0.0, report=False)


def train(out: Path, *, resume: bool = False, saving: Saving = OFTEN, lr: float = 2e-2, **more: object) -> FinishedRun:
    budget = Budget(steps=STEPS) if "budget" not in more else more.pop("budget")
    return run_job(job(lr=lr), out, budget, resume=resume, saving=saving, **more)  # type: ignore[arg-type]


def weights(run: Path) -> str:
    return sha256_of(run / "model" / "weights.safetensors")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    return train(tmp_path_factory.mktemp("whole") / "run")


def test_it_learns(whole: FinishedRun) -> None:
    lines = [json.loads(line) for line in (whole.path / "metrics.jsonl").read_text().splitlines()]
    first, *_, last = (line["validation_r2"] for line in lines if "validation_r2" in line)
    assert first < 0.2 and last > 0.6
    assert whole.tokens == STEPS * regression.ROWS and whole.figures["r2"] == last


def test_stopped_by_sigterm_it_goes_on_to_the_same_weights(
    whole: FinishedRun, tmp_path: Path, interrupted: Callable[..., AbstractContextManager[None]]
) -> None:
    stopped = pytest.raises(Terminated, match=f"stopped after step 7 of {STEPS}")
    with interrupted(7, signal.SIGTERM), stopped:
        train(tmp_path / "run")
    assert summarize_run(read_history(tmp_path / "run")).state == "stopped"
    train(tmp_path / "run", resume=True)
    assert weights(tmp_path / "run") == weights(whole.path)


def test_it_goes_on_only_as_what_it_was(whole: FinishedRun) -> None:
    with pytest.raises(Refused, match=r"cannot go on: lr: the run has 0\.02, asked for 0\.1"):
        train(whole.path, resume=True, lr=0.1)


def test_processes_that_prepare_ahead_change_nothing(
    whole: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(regression.__file__).parent))
    train(tmp_path / "run", workers=1)
    assert weights(tmp_path / "run") == weights(whole.path)


def test_on_two_processes_that_are_killed_it_comes_to_the_same_weights(tmp_path: Path) -> None:
    script, words = Path(regression.__file__), [str(tmp_path / "run"), "--steps", "150", "--reproducible"]
    train(tmp_path / "alone", budget=Budget(steps=150), reproducible=True)
    started = processes.start(tmp_path / "killed", 2, words, script=script)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "run").glob("checkpoints/step-*")) and started.at_work:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert started.kill() == [True, True]
    assert not (tmp_path / "run" / "model").exists()
    done = processes.run(tmp_path / "again", 2, [*words, "--resume"], script=script)
    assert done.returncode == 0, done.stderr
    assert weights(tmp_path / "run") == weights(tmp_path / "alone")


def test_its_best_moment_is_kept_beside_the_newest_and_exported(
    tmp_path: Path, interrupted: Callable[..., AbstractContextManager[None]]
) -> None:
    best = Saving(seconds=0.0, best=True, report=False)
    run, wild = tmp_path / "run", {"saving": best, "lr": 0.7}  # so high a learning rate that it comes and goes
    finished = train(run, **wild)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    measured = {line["step"]: line["validation_r2"] for line in lines if "validation_r2" in line}
    assert measured.keys() >= {0, 30, STEPS} and finished.steps == STEPS
    assert finished.step == max(measured, key=measured.__getitem__) < STEPS
    assert finished.figures["r2"] == max(measured.values())
    kept, newest = checkpoint.newest(run / "best"), checkpoint.newest(run / "checkpoints")
    assert kept is not None and newest is not None and (kept.step, newest.step) == (finished.step, STEPS)
    assert f"step {finished.step}," in (run / "model" / "README.md").read_text()

    with interrupted(finished.step + 2), pytest.raises(Interrupted, match="to go on: unmask regress --resume"):
        train(tmp_path / "again", **wild)
    train(tmp_path / "again", resume=True, **wild)
    assert weights(tmp_path / "again") == weights(run)


def test_a_pass_over_its_data_is_a_budget(tmp_path: Path) -> None:
    assert train(tmp_path / "run", budget=Budget(epochs=0.5)).steps == 25


def test_its_report_and_its_status_have_its_own_figures(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(run, saving=Saving(seconds=0.0))
    page, status = (run / "report.html").read_text(), summarize_run(read_history(run))
    for said in ("Explained variance", "Squared error", "a made-up table", f"cat {run}/model/README.md"):
        assert said in page
    _, _, told = page.lower().partition("</style>")
    for unsaid in ("hidden", "[mask]", "perplexity", "accuracy", "nats"):
        assert unsaid not in told
    assert (run / "plot.png").exists() and status.titles == TITLES and status.state == "finished"
    assert status.best is not None and status.best.figures["r2"] == max(
        each.figures["r2"] for each in status.validations
    )
