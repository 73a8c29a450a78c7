"""Products in fewer bits: how near they stay, and how a loss is scaled so that float16 can hold its gradients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint, precision
from unmask.training.loop import Position
from unmask.training.machine.computing import Computing
from unmask.training.precision import FALL, FIRST_SCALE, PATIENCE, Precision
from unmask.training.session import Session
from unmask.training.step import StepOptions, take_step

TINY = recipe_named("tiny")
SMALL = replace(TINY, settings=replace(TINY.settings, length=32, batch_size=4, micro_batch=2))
TOLERANCE = {"bfloat16": 2e-2, "float16": 2e-3}  # their numbers have 8 and 11 bits


def gradient(data: Path, name: str) -> tuple[float, torch.Tensor]:
    """The loss and the whole gradient of the first step."""
    work = Session.begin(Pretraining.of(Dataset.open(data), SMALL, 0).job(), 4, Computing(precision=name, device="cpu"))
    found: list[torch.Tensor] = []
    work.optimizer.step = lambda *_: found.extend(p.grad for p in work.learner.parameters())  # type: ignore[method-assign]
    work.learner.train()
    did = take_step(work.learner, work.optimizer, work.source, step=0, options=StepOptions(precision=work.precision))
    assert all(parameter.dtype == torch.float32 for parameter in work.learner.parameters())
    assert all(each.dtype == torch.float32 for each in found)
    return did.loss, torch.cat([each.flatten() for each in found])


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_loss_and_gradient_are_those_of_float32_within_the_bits_of_the_numbers(data: Path, name: str) -> None:
    loss, whole = gradient(data, "float32")
    other, near = gradient(data, name)
    assert loss != other, "something was computed in fewer bits"
    assert abs(loss - other) < TOLERANCE[name] * loss
    assert (whole - near).norm() < 2 * TOLERANCE[name] * whole.norm()


def test_gradients_that_float16_would_lose_are_kept_by_the_scale() -> None:
    weight = torch.nn.Parameter(torch.full((4, 4), 1e-4))
    inputs = torch.full((1, 4), 1e-4)

    def backward(scaled: Precision) -> torch.Tensor:
        weight.grad = None
        with scaled.casting():
            loss = (inputs @ weight).float().sum() * 1e-3
        scaled.scale_loss(loss).backward()
        scaled.unscale([weight])
        assert weight.grad is not None
        return weight.grad.clone()

    unscaled, scaled = Precision("float16"), Precision("float16")
    unscaled.scale = 1.0
    assert (backward(unscaled) - 1e-7).abs().max() > 1e-8
    assert (backward(scaled) - 1e-7).abs().max() < 1e-10


def test_the_scale_falls_with_every_overflow_and_is_doubled_after_a_long_calm() -> None:
    scaled = Precision("float16")
    scaled.update(False)
    scaled.update(False)
    assert scaled.scale == FIRST_SCALE / FALL**2
    for _ in range(PATIENCE - 1):
        scaled.update(True)
    assert scaled.scale == FIRST_SCALE / FALL**2
    scaled.update(True)
    assert scaled.scale == FIRST_SCALE / FALL**2 * 2
    again = Precision("float16")
    again.restore(scaled.state)
    assert again.state == scaled.state


def test_float32_and_bfloat16_have_nothing_to_scale() -> None:
    for name in ("float32", "bfloat16"):
        plain = Precision(name)
        plain.update(False)
        assert plain.scale == 1.0 and plain.state == {}


def steps(work: Session, *numbers: int) -> list[bool]:
    """Take steps; whether each was applied."""
    work.learner.train()
    care = StepOptions(precision=work.precision)
    return [take_step(work.learner, work.optimizer, work.source, step=step, options=care).applied for step in numbers]


def test_an_overflow_is_skipped_and_a_stopped_run_goes_on_with_its_scale(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work() -> Session:
        return Session.begin(
            Pretraining.of(Dataset.open(data), SMALL, 0).job(), 6, Computing(precision="float16", device="cpu")
        )

    monkeypatch.setattr(precision, "FIRST_SCALE", 2.0**20)  # too large: the first steps overflow
    whole, stopped = work(), work()
    applied = steps(whole, *range(6))
    skipped = applied.index(True)
    assert 1 <= skipped < 5
    assert whole.precision.scale == 2.0**20 / FALL ** applied.count(False)

    steps(stopped, *range(skipped + 1))
    stopped.save(tmp_path, Position(step=skipped + 1), keep=1)
    saved = checkpoint.newest(tmp_path)
    assert saved is not None
    again = work()
    assert again.restore(saved) == Position(step=skipped + 1)
    steps(again, *range(skipped + 1, 6))
    assert again.precision.state == whole.precision.state
    for left, right in zip(again.learner.parameters(), whole.learner.parameters(), strict=True):
        assert torch.equal(left, right)
