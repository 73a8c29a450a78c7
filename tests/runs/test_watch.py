"""Following a run that goes on elsewhere."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import pytest
from rich.console import Console

from unmask import progress
from unmask.errors import BadInput, Interrupted
from unmask.runs import watch as follow
from unmask.runs.directory import Run, describe, opened
from unmask.runs.watch import list_runs, watch

ASKED = {"format": 1, "unmask": "0", "recipe": {"name": "tiny"}, "budget": None}


class Trainer:
    """Somebody who holds a run and logs a validation whenever the watcher waits, then lets go."""

    def __init__(self, path: Path, validations: int) -> None:
        self.path, self.left = path, validations
        self.opening = opened(path, ASKED, resume=False)
        self.run: Run = describe(self.opening.__enter__(), 10, 1)

    def sleep(self, _seconds: float) -> None:
        if not self.left:
            self.opening.__exit__(None, None, None)
            return
        self.left -= 1
        step = 10 - self.left
        self.run.log({"step": step, "loss": 3.0, "tokens": step * 100, "tokens_per_second": 50.0})
        self.run.log({"step": step, "validation_loss": 3.0 - step / 10, "validation_accuracy": step / 100})


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trainer:
    made = Trainer(tmp_path / "run", 3)
    monkeypatch.setattr(follow.time, "sleep", made.sleep)
    return made


def test_a_log_gets_a_line_for_each_new_validation_and_the_run_is_said_to_have_stopped(trainer: Trainer) -> None:
    said = io.StringIO()
    with progress.shown(Console(file=said, width=80)):
        ended = watch(trainer.path)
    assert ended.state == "stopped" and ended.last is not None and ended.last.step == 10
    assert said.getvalue().splitlines() == [
        "step 8 of 10 · held out 2.200, 8.0%",
        "step 9 of 10 · held out 2.100, 9.0%",
        "step 10 of 10 · held out 2.000, 10.0%",
    ]


def test_a_terminal_gets_a_panel_that_moves(trainer: Trainer) -> None:
    said = io.StringIO()
    with progress.shown(Console(file=said, width=80, force_terminal=True)):
        watch(trainer.path)
    text = said.getvalue()
    assert all(part in text for part in ("timing its steps", "80%", "4.0 s left", "100%", "█▅▁", "Stopped"))


def test_a_library_call_says_nothing(trainer: Trainer, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch(trainer.path).state == "stopped"
    assert capsys.readouterr() == ("", "")


def test_once_looks_and_leaves(trainer: Trainer) -> None:
    assert watch(trainer.path, once=True).state == "running"
    assert trainer.left == 3


def test_a_watcher_that_leaves_does_not_touch_the_run(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(follow.time, "sleep", leave)
    with pytest.raises(Interrupted, match=r"no longer watching .*; the run goes on"):
        watch(trainer.path)
    assert watch(trainer.path, once=True).state == "running"


def test_what_cannot_be_watched_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere: is not a directory"):
        watch(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="is not a run directory"):
        watch(tmp_path)
    with pytest.raises(BadInput, match="--seconds 0"):
        watch(tmp_path, seconds=0)


def test_a_look_at_the_lock_never_keeps_a_run_from_starting(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    stop = threading.Event()

    looks: list[object] = []
    started: list[Path] = []

    def look() -> None:
        while not stop.is_set():
            looks.append(list_runs([tmp_path]))

    watchers = [threading.Thread(target=look) for _ in range(2)]
    for each in watchers:
        each.start()
    try:
        for _ in range(50):
            with opened(tmp_path / "run", ASKED, resume=True) as run:
                started.append(run.path)
    finally:
        stop.set()
        for each in watchers:
            each.join()
    assert looks and len(started) == 50
