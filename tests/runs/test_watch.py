"""Following a run that goes on elsewhere."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput, Interrupted
from unmask.results import RunStatus
from unmask.runs import directory
from unmask.runs import watch as follow
from unmask.runs.directory import FORMAT, describe_run, open_run
from unmask.runs.watch import Show, list_runs, watch_run

Run = Callable[..., subprocess.CompletedProcess[str]]
FIGURES = [{"name": "loss", "title": "Loss"}, {"name": "accuracy", "title": "Accuracy", "percent": True}]
ASKED = {"format": FORMAT, "unmask": "0", "name": "tiny", "budget": None, "figures": FIGURES}


class Trainer:
    """Somebody who holds a run and logs a validation whenever the watcher waits, then lets go."""

    def __init__(self, path: Path, validations: int) -> None:
        self.path, self.left = path, validations
        self.opening = open_run(path, ASKED, resume=False)
        self.run: directory.Run = describe_run(self.opening.__enter__(), 10, 1)

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


class Audience:
    """Somebody who is told where the run stands, and remembers it."""

    def __init__(self) -> None:
        self.opened = 0
        self.told: list[RunStatus] = []

    @contextmanager
    def display(self) -> Iterator[Show]:
        self.opened += 1
        yield self.told.append


def test_whoever_watches_is_told_at_each_look_until_the_run_has_stopped(trainer: Trainer) -> None:
    audience = Audience()
    ended = watch_run(trainer.path, display=audience.display)
    assert [(each.state, each.step) for each in audience.told] == [
        ("running", 0),
        ("running", 8),
        ("running", 9),
        ("running", 10),
        ("stopped", 10),
    ]
    assert ended == audience.told[-1] and audience.opened == 1


def test_where_there_is_nothing_to_follow_nothing_is_shown(trainer: Trainer) -> None:
    audience = Audience()
    watch_run(trainer.path, once=True, display=audience.display)
    while trainer.left:
        trainer.sleep(1)
    trainer.sleep(1)
    assert watch_run(trainer.path, display=audience.display).state == "stopped"
    assert audience.opened == 0


def test_a_library_call_says_nothing(trainer: Trainer, capsys: pytest.CaptureFixture[str]) -> None:
    assert unmask.watch(trainer.path).state == "stopped"
    assert capsys.readouterr() == ("", "")


def test_the_command_says_each_validation_in_a_log(trainer: Trainer, inside: Run) -> None:
    done = inside("watch", trainer.path)
    assert done.returncode == 0 and done.stdout.startswith("Stopped ")
    assert done.stderr.splitlines() == [
        "step 8 of 10 · held out loss 2.200, accuracy 8.0%",
        "step 9 of 10 · held out loss 2.100, accuracy 9.0%",
        "step 10 of 10 · held out loss 2.000, accuracy 10.0%",
    ]


def test_once_looks_and_leaves(trainer: Trainer) -> None:
    assert watch_run(trainer.path, once=True).state == "running"
    assert trainer.left == 3


def test_a_watcher_that_leaves_does_not_touch_the_run(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(follow.time, "sleep", leave)
    with pytest.raises(Interrupted, match=r"no longer watching .*; the run goes on"):
        watch_run(trainer.path)
    assert watch_run(trainer.path, once=True).state == "running"


def test_what_cannot_be_watched_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere: is not a directory"):
        watch_run(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="is not a run directory"):
        watch_run(tmp_path)
    with pytest.raises(BadInput, match="--seconds 0"):
        watch_run(tmp_path, seconds=0)


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
            with open_run(tmp_path / "run", ASKED, resume=True) as run:
                started.append(run.path)
    finally:
        stop.set()
        for each in watchers:
            each.join()
    assert looks and len(started) == 50
