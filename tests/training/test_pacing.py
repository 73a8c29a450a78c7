"""Minutes are kept on a machine whose speed changes on the way: a clock that does so, and the real runner."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import processes
import pytest
import regression
from regression import ROWS, Explained, Points, Preparer, Rows, job
from torch.nn import Module

from unmask.errors import Interrupted
from unmask.files import sha256_of
from unmask.runs.history import read_history, summarize_run
from unmask.training import checkpoint
from unmask.training.budget import Budget
from unmask.training.job import FinishedRun, Job, PlannedBatch
from unmask.training.machine.distributed import World
from unmask.training.observer import Saving
from unmask.training.pacing import MOMENTS, Pacer, Spent
from unmask.training.run_job import run_job
from unmask.training.timetable import Timetable

MINUTES = 1.5
SECONDS = MINUTES * 60
SELDOM = Saving(seconds=1e9, report=False)


@dataclass
class Machine:
    """A machine by whose clock only work takes time; from a moment on it is so many times as slow."""

    change: float = 0.0  # share of the minutes
    times: float = 1.0
    now: float = 1000.0
    began: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds * (self.times if self.now - self.began >= self.change * SECONDS else 1.0)


@dataclass(frozen=True)
class TimedRows(Rows):
    """Steps that take half a second of the machine."""

    machine: Machine = field(default_factory=Machine)

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        if indices is not None:  # asked for by who computes the step
            self.machine.work(0.5)
        return super().plan_step(step, indices)


@dataclass(frozen=True)
class TimedValidation(Explained):
    """A measurement that takes a second on what a validation looks at, and three in the end."""

    tokens: int = 3 * 4096
    machine: Machine = field(default_factory=Machine)

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        self.machine.work(min(limit or self.tokens, self.tokens) / 4096)
        return super().measure(learner, 200, world)


def timed_job(machine: Machine) -> Job:
    def source(timetable: Timetable) -> TimedRows:
        return TimedRows(timetable, machine=machine)

    return replace(job(), source=source, validation=lambda _learner: TimedValidation(machine=machine))


def train(out: Path, machine: Machine, **more: Any) -> FinishedRun:
    options = {"saving": SELDOM, **more}
    return run_job(timed_job(machine), out, Budget(minutes=MINUTES), clock=machine, **options)


def lines(run: Path, name: str) -> dict[int, float]:
    logged = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return {line["step"]: line[name] for line in logged if name in line}


@pytest.mark.parametrize("times", [2.0, 0.5])
@pytest.mark.parametrize("change", [0.0, 0.05, 0.33, 0.72, 0.89, 0.955])
def test_a_run_keeps_its_minutes_when_the_machine_becomes_twice_or_half_as_fast(
    change: float, times: float, tmp_path: Path
) -> None:
    machine = Machine(change=change, times=times)
    finished = train(tmp_path / "run", machine)
    assert machine.now - machine.began == pytest.approx(SECONDS, rel=0.05)
    planned, measured = lines(tmp_path / "run", "planned_steps"), lines(tmp_path / "run", "validation_r2")
    assert 3 <= len(planned) <= len(MOMENTS) and [*planned.values()][-1] == finished.steps
    assert len(measured) == 11 and {0, finished.steps} <= measured.keys()
    rates = [*lines(tmp_path / "run", "lr").values()]
    assert max(rates) == pytest.approx(2e-2) and rates[-1] < 0.05 * max(rates)
    status = summarize_run(read_history(tmp_path / "run"))
    assert (status.state, status.step, status.steps) == ("finished", finished.steps, finished.steps)


def test_a_guess_from_steps_that_were_twice_as_slow_gives_no_time_away(tmp_path: Path) -> None:
    machine = Machine(change=0.02, times=0.5)  # the steps that are timed before the first are the slow ones
    steps = train(tmp_path / "run", machine).steps
    guessed = read_history(tmp_path / "run").description["steps"]
    assert 1.8 * guessed < steps < 2.2 * guessed


def test_a_run_that_is_stopped_goes_on_to_the_same_weights_and_the_pause_is_not_counted(
    tmp_path: Path, interrupted: Callable[..., AbstractContextManager[None]]
) -> None:
    whole = train(tmp_path / "whole", Machine(change=0.4, times=2.0))
    machine = Machine(change=0.4, times=2.0)
    for step in (30, 65):
        with interrupted(step), pytest.raises(Interrupted, match=f"stopped after step {step} of "):
            train(tmp_path / "run", machine, resume=step > 30)
        machine.began += 5000.0
        machine.now += 5000.0
    again = train(tmp_path / "run", machine, resume=True)
    kept = [checkpoint.newest(run.path / "checkpoints") for run in (whole, again)]
    assert kept[0] is not None and kept[1] is not None
    assert kept[0].state["plans"] == kept[1].state["plans"] and len(kept[0].state["plans"]) > 10
    hashes = [sha256_of(run.path / "model" / "weights.safetensors") for run in (whole, again)]
    assert hashes[0] == hashes[1] and whole.figures == again.figures
    assert lines(whole.path, "planned_steps") == lines(again.path, "planned_steps")


def test_a_run_that_was_killed_plans_from_its_checkpoint_and_lost_steps_do_not_count(
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
    before_step: Callable[..., AbstractContextManager[None]],
) -> None:
    class Killed(Exception):
        pass

    def kill(_learner: Module) -> None:
        raise Killed

    machine, run = Machine(), tmp_path / "run"
    with interrupted(30), pytest.raises(Interrupted):
        train(run, machine)
    kept = checkpoint.newest(run / "checkpoints")
    assert kept is not None and kept.step == 30
    before = lines(run, "planned_steps")
    with before_step(60, kill), pytest.raises(Killed):
        train(run, machine, resume=True)
    assert len(lines(run, "planned_steps")) > len(before)
    start, machine.times = machine.now, 2.0
    again = train(run, machine, resume=True)
    last = checkpoint.newest(run / "checkpoints")
    assert last is not None and last.state["plans"][: len(kept.state["plans"])] == kept.state["plans"]
    assert {step: steps for step, steps in lines(run, "planned_steps").items() if step <= 30} == before
    assert last.step == again.steps < kept.state["plans"][-1][1]
    used = Spent.of(kept.state["spent"]).seconds
    assert machine.now - start == pytest.approx(SECONDS - used, rel=0.05)


@dataclass(frozen=True)
class Counted(Preparer):
    """Rows that depend on how far the run is."""

    def batch(self, request: tuple[int, int, float]) -> Points:  # type: ignore[override]
        begin, end, progress = request
        right = super().batch((begin, end))
        return replace(right, y=right.y * (1 + progress))


@dataclass(frozen=True)
class Moving(TimedRows):
    """What is learnt changes with the progress of the run, as a rate or a stage does."""

    preparer: Preparer = Counted()

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        progress = self.timetable.progress(step)
        for planned in super().plan_step(step, indices):
            yield replace(planned, request=(*planned.request, progress))


def test_processes_that_prepare_ahead_are_overtaken_by_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unmask.training.loader import Loader

    timetable = Timetable(10)
    source = Moving(timetable)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with Loader(source, range(3), workers=2) as loader:
        for step in range(20):
            if step in (4, 9):
                timetable.replan(step, {4: 10, 9: 20}[step])
            if step == 6:
                timetable.replan(step, 12)
            for nth, micro_batch in enumerate(loader.micro_batches(step)):
                (planned,) = source.plan_step(step, [nth])
                assert micro_batch.number == planned.number
                assert (micro_batch.batch.y == source.preparer.batch(planned.request).y).all()
    assert timetable.steps == 20


def test_a_run_of_steps_is_never_planned_again(tmp_path: Path) -> None:
    machine = Machine()
    finished = run_job(timed_job(machine), tmp_path / "run", Budget(steps=30), saving=SELDOM, clock=machine)
    kept = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert finished.steps == 30 and not lines(tmp_path / "run", "planned_steps")
    assert kept is not None and kept.state.keys().isdisjoint({"plans", "spent"})
    assert finished.tokens == 30 * ROWS


def test_time_that_is_over_leaves_one_step_to_end_with() -> None:
    machine = Machine()
    pacer = Pacer(Timetable(100), 60.0, machine)
    pacer.begin(0.0)
    machine.work(500.0)
    pacer.end_step()
    assert pacer.plan(1, end=3.0) == 2
    pacer.adopt(1, 2)
    assert pacer.timetable.steps == 2 and pacer.plan(1, end=3.0) is None


@pytest.mark.parametrize("wrong", [{"stepping": -1.0}, {"besides": "long"}, {"starting": float("nan")}, {"other": 1.0}])
def test_what_is_no_account_of_time_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Spent.of(wrong)


def test_on_two_processes_the_clock_of_the_first_decides(tmp_path: Path) -> None:
    words = [str(tmp_path / "run"), "--minutes", "0.05"]
    done = processes.run(tmp_path / "said", 2, words, script=Path(regression.__file__))
    assert done.returncode == 0, done.stderr
    kept = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert kept is not None and len(kept.state["plans"]) > 3 and kept.state["plans"][-1][1] == kept.step
    assert json.loads(done.stdout.splitlines()[-1])["steps"] == kept.step


def test_a_run_that_was_begun_before_plans_were_kept_has_spent_what_its_steps_lasted() -> None:
    pacer = Pacer(Timetable(100), 600.0, Machine())
    pacer.restore({"step": 20, "seconds": 45.0})
    assert (pacer.spent.seconds, pacer.spent.steps, pacer.timetable.state) == (45.0, 20, [[0, 100]])
