"""What goes wrong in a run, planted, and what the run makes of it."""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from unmask.errors import BadInput, Damaged, Diverged, Interrupted, Terminated
from unmask.objectives.mlm import MLM
from unmask.objectives.objective import Outcome
from unmask.pretraining import pretrain
from unmask.pretraining import pretrain as pretrains
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.records import Batch
from unmask.results import Trained
from unmask.runs.directory import Run
from unmask.training import checkpoint, loader
from unmask.training.budget import Budget
from unmask.training.machine import memory as parts
from unmask.training.observer import Saving
from unmask.training.session import Session

TINY = recipe_named("tiny")
PLAN = replace(TINY, settings=replace(TINY.settings, length=32, batch_size=8, micro_batch=8))
STEPS = 8
Happens = Callable[[int, Callable[[Any], object]], AbstractContextManager[None]]


def train(data: Path, out: Path, plan: Recipe = PLAN, *, steps: int = STEPS, **more: Any) -> Trained:
    saving = Saving(seconds=more.pop("seconds", 1e9), report=False)
    return pretrain.pretrain(data, out, plan, more.pop("budget", Budget(steps=steps)), saving=saving, **more)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The run that nothing happened to."""
    return train(data, tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def planted() -> Iterator[pytest.MonkeyPatch]:
    """For faults that are to be gone when a run goes on."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def logged(run: Path) -> list[dict[str, Any]]:
    return [line for line in Run(run, {}).read_log() if "loss" in line]


def change_loss(patch: pytest.MonkeyPatch, when: Callable[[Batch], bool], factor: float) -> None:
    """Multiply the loss of some batches."""
    right = MLM.outcome

    def outcome(self: MLM, learner: torch.nn.Module, batch: Batch) -> Outcome:
        found = right(self, learner, batch)
        return replace(found, losses={"mlm": found.losses["mlm"] * factor}) if when(batch) else found

    patch.setattr(MLM, "outcome", outcome)


# data that is prepared ahead


def children() -> set[int]:
    """The processes that this one has started and that have not ended."""
    here = os.getpid()
    return set(map(int, Path(f"/proc/{here}/task/{here}/children").read_text().split()))


def test_processes_that_prepare_change_nothing_and_a_killed_one_is_replaced(
    data: Path, tmp_path: Path, whole: Trained, planted: pytest.MonkeyPatch, before_step: Happens
) -> None:
    said: list[str] = []
    planted.setattr(loader, "say", said.append)
    before, preparing = children(), set[int]()

    def kill_one(_learner: object) -> None:
        preparing.update(children() - before)
        os.kill(max(preparing), signal.SIGKILL)

    with before_step(0, kill_one):  # while it still has to prepare something
        again = train(data, tmp_path / "run", workers=2)
    assert again.weights_sha256 == whole.weights_sha256
    assert len(preparing) == 2 and children() == before
    assert said == ["[yellow]a process that prepares data died (SIGKILL) and was started again[/]"]
    waited = [line["waited"] for line in logged(again.path)]
    assert len(waited) == STEPS and 0 <= min(waited) <= max(waited) <= 1


def test_a_token_beyond_the_vocabulary_is_one_clear_line(
    data: Path, tmp_path: Path, planted: pytest.MonkeyPatch
) -> None:
    from unmask.pretraining.informed import kept_vectors
    from unmask.tokens.store.shards import Shards

    read = Shards.read

    def damaged(self: Shards, start: int, stop: int) -> Any:
        ids, starts = read(self, start, stop)
        ids[0] = 60_000
        return ids, starts

    planted.setattr(Shards, "read", damaged)
    kept_vectors.cache_clear()  # of the same text when it was whole
    for init, where in (("informed", "the text to train on"), ("random", r"block \d+ of epoch 0")):
        with pytest.raises(Damaged, match=rf"{where} has the token 60000, .* unmask verify says where"):
            train(data, tmp_path / init, replace(PLAN, settings=replace(PLAN.settings, init=init)))


# numbers that are not finite, and spikes


def test_weights_that_are_not_finite_are_named_never_saved_and_the_run_goes_on_from_before(
    data: Path, tmp_path: Path, whole: Trained, before_step: Happens
) -> None:
    def plant(learner: torch.nn.Module) -> None:
        dict(learner.named_parameters())["model.layers.0.mlp.Wo.weight"].data[0, 0] = torch.nan

    for seconds in (0.0, 1e9):  # a save is due after that step, or is not
        run = tmp_path / f"run-{seconds:.0f}"
        named = pytest.raises(Diverged, match=r"step 6: model\.layers\.0\.mlp\.Wo\.weight has 1 of .*--resume")
        with before_step(5, plant), named:
            train(data, run, seconds=seconds)
        found = checkpoint.newest(run / "checkpoints")
        assert (found.step if found else None) == (5 if seconds == 0 else None)
    assert train(data, tmp_path / "run-0", resume=True).weights_sha256 == whole.weights_sha256


def test_gradients_that_are_not_finite_are_not_applied_and_their_blocks_are_logged(
    data: Path, tmp_path: Path, before_step: Happens
) -> None:
    def plant(learner: torch.nn.Module) -> None:
        parameter = next(learner.parameters())
        handle = parameter.register_hook(lambda gradient: (handle.remove(), gradient * torch.inf)[1])

    with before_step(3, plant):
        run = train(data, tmp_path / "run", steps=6)
    lines = logged(run.path)
    assert [line.get("skipped", False) for line in lines] == [False, False, False, True, False, False]
    assert len(lines[3]["rows"]) == 8 and run.loss < 10


def test_a_block_that_gives_no_number_costs_its_step_and_is_named(
    data: Path, tmp_path: Path, planted: pytest.MonkeyPatch
) -> None:
    change_loss(planted, lambda batch: 20 in batch.numbers, float("nan"))  # of the third step
    run = train(data, tmp_path / "run", steps=6)
    assert [line["rows"] for line in logged(run.path) if line.get("skipped")] == [list(range(16, 24))]


def test_a_spike_is_logged_with_its_blocks_and_left_out_where_that_is_asked_also_after_a_stop(
    data: Path, tmp_path: Path, before_step: Happens, interrupted: Callable[[int], AbstractContextManager[None]]
) -> None:
    careful = replace(PLAN, settings=replace(PLAN.settings, skip_spikes=True))
    weights: dict[int, torch.Tensor] = {}

    def keep(learner: torch.nn.Module) -> None:
        weights[len(weights)] = torch.cat([p.detach().flatten() for p in learner.parameters()])

    with pytest.MonkeyPatch.context() as patch, before_step(21, keep), before_step(22, keep):
        change_loss(patch, lambda batch: 168 in batch.numbers, 20.0)  # of the 22nd step
        plain = train(data, tmp_path / "plain", steps=24)
        assert not torch.equal(weights[0], weights[1])
        weights.clear()
        skipping = train(data, tmp_path / "skipping", careful, steps=24)
        assert torch.equal(weights[0], weights[1])
        with interrupted(21), pytest.raises(Interrupted, match="stopped after step 21 of 24"):
            train(data, tmp_path / "stopped", careful, steps=24)
    with pytest.MonkeyPatch.context() as patch:
        change_loss(patch, lambda batch: 168 in batch.numbers, 20.0)
        stopped = train(data, tmp_path / "stopped", careful, steps=24, resume=True)
    assert stopped.weights_sha256 == skipping.weights_sha256 != plain.weights_sha256
    for run, skipped in ((plain, None), (skipping, True), (stopped, True)):
        spikes = [line for line in logged(run.path) if "spike" in line]
        assert [(line["step"], line["rows"], line.get("skipped")) for line in spikes] == [
            (22, list(range(168, 176)), skipped)
        ]
        assert spikes[0]["spike"].startswith("loss ")


# memory


def no_memory(patch: pytest.MonkeyPatch, rows: int, error: Exception) -> None:
    """Have no memory for more than so many rows: noticed after some gradients are there already."""
    right = MLM.outcome

    def outcome(self: MLM, learner: torch.nn.Module, batch: Batch) -> Outcome:
        found = right(self, learner, batch)
        if len(batch.ids) > rows and learner.training:
            found.losses["mlm"].backward(retain_graph=True)
            raise error
        return found

    patch.setattr(MLM, "outcome", outcome)


@pytest.mark.parametrize("reproducible", [False, True])
def test_without_memory_micro_batches_are_computed_in_parts_and_the_step_stays_what_it_is(
    data: Path, tmp_path: Path, reproducible: bool, interrupted: Callable[[int], AbstractContextManager[None]]
) -> None:
    smaller = replace(PLAN, settings=replace(PLAN.settings, micro_batch=2))
    undisturbed = train(data, tmp_path / "undisturbed", smaller, steps=4, reproducible=reproducible)
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "say", said.append)
        no_memory(patch, 2, RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"))
        with interrupted(3), pytest.raises(Interrupted, match="stopped after step 3 of 4"):
            train(data, tmp_path / "run", steps=4, reproducible=reproducible)
    assert len(said) == 2 and "micro-batches of 8 rows are computed in 4 parts" in said[1]
    again = train(data, tmp_path / "run", steps=4, resume=True, reproducible=reproducible)
    assert again.loss == pytest.approx(undisturbed.loss, abs=1e-4)
    both = zip(logged(again.path), logged(undisturbed.path), strict=True)
    for ours, theirs in both:
        assert ours["splits"] == 4  # also when the run went on where there was memory again
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-4)
        assert (ours["tokens"], ours["hidden_rate"]) == (theirs["tokens"], theirs["hidden_rate"])


def test_what_cannot_fit_at_all_is_one_line_and_leaves_nothing_behind(
    data: Path, tmp_path: Path, planted: pytest.MonkeyPatch
) -> None:
    no_memory(planted, 0, MemoryError())
    with pytest.raises(BadInput, match="not even one row can be trained on by itself"):
        train(data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


# clocks and signals


def test_a_clock_that_is_set_back_changes_nothing(
    data: Path, tmp_path: Path, whole: Trained, planted: pytest.MonkeyPatch
) -> None:
    now = iter(range(10**9, 0, -3600))  # an hour back each time somebody looks
    planted.setattr(time, "time", lambda: float(next(now)))
    run = train(data, tmp_path / "run", seconds=0.0)
    assert run.weights_sha256 == whole.weights_sha256 and run.seconds > 0
    speeds = [line["tokens_per_second"] for line in logged(run.path)]
    assert len(speeds) == STEPS and min(speeds) > 0
    assert len(list((run.path / "checkpoints").iterdir())) == 2


def signalled(patch: pytest.MonkeyPatch, place: Any, name: str, when: Callable[..., bool] = lambda **_: True) -> None:
    """Have SIGTERM come in the middle of a function, the first time that its arguments, by their names, are so."""
    right = getattr(place, name)
    heard: list[object] = []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        if not heard and when(**inspect.signature(right).bind(*args, **kwargs).arguments):
            heard.append(args)
            os.kill(os.getpid(), signal.SIGTERM)
        return right(*args, **kwargs)

    patch.setattr(place, name, interrupted)


PHASES: dict[str, tuple[Any, str, Callable[..., bool], str]] = {
    "saving": (checkpoint, "save", lambda checkpoint, **_: checkpoint.step == 3, "after step 4 of 8, which is saved"),
    "validating": (Session, "validate", lambda **_: True, "after step 1 of 8, which is saved"),
    "measuring": (Session, "measure", lambda limit, **_: limit is None, "after the last step"),
    "exporting": (pretrains, "export_model", lambda **_: True, "after the last step"),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_in_any_phase_loses_nothing(data: Path, tmp_path: Path, whole: Trained, phase: str) -> None:
    place, name, when, line = PHASES[phase]
    with pytest.MonkeyPatch.context() as patch:
        signalled(patch, place, name, when)
        with pytest.raises(Terminated, match=f"stopped {line}.*--resume"):
            train(data, tmp_path / "run", seconds=0.0)
    assert train(data, tmp_path / "run", resume=True).weights_sha256 == whole.weights_sha256


def test_a_signal_before_the_first_step_leaves_nothing_behind(
    data: Path, tmp_path: Path, planted: pytest.MonkeyPatch
) -> None:
    from unmask.training import budget

    signalled(planted, budget, "seconds_a_validated_token")
    with pytest.raises(Terminated, match="stopped before training went on: nothing is lost"):
        train(data, tmp_path / "run", budget=Budget(minutes=0.01))
    assert not (tmp_path / "run").exists()


# crafted checkpoints


@pytest.fixture(scope="module")
def short(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(data, tmp_path_factory.mktemp("short") / "run", steps=1).path


def narrowed(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor[:1].clone() if tensor.ndim else tensor for name, tensor in tensors.items()}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"optimizer": narrowed}, r"(momentum|exp_avg|exp_avg_sq) is"),
        ({"optimizer": lambda tensors: {f"../{k}": v for k, v in tensors.items()}}, r"\.\./"),
        ({"model": lambda tensors: {f"../{k}": v for k, v in tensors.items()}}, "is not in both"),
        ({"state": lambda state: {**state, "step": "rm -rf"}}, "step is 'rm -rf'"),
        ({"state": lambda state: {**state, "tokens": -1}}, "tokens is -1"),
        ({"state": lambda state: {**state, "recent": {"losses": ["x"]}}}, "could not convert"),
        ({"state": lambda state: {**state, "evil": 1}}, "evil"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_by_the_name_of_what_differs(
    data: Path, tmp_path: Path, short: Path, change: dict[str, Callable[[Any], Any]], line: str
) -> None:
    shutil.copytree(short, tmp_path / "run")
    ((name, alter),) = change.items()
    for saved in (tmp_path / "run" / "checkpoints").iterdir():
        found = checkpoint.load(saved)
        checkpoint.save(saved.parent, replace(found, **{name: alter(getattr(found, name))}))
    with pytest.raises(Damaged, match=rf"step 1 does not fit the model \(.*{line}"):
        train(data, tmp_path / "run", steps=1, resume=True)
