"""Layers cut up, by a single process that holds all the parts; several are in test_distributed.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import distributed
from torch.nn import Parameter

from unmask.models.layers import layers_of
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint
from unmask.training.loop import Position
from unmask.training.machine.sharding import clip_gradients, full_tensor, is_sharded, shard_layers, shard_like
from unmask.training.optimizer import Optimizer, Optimizing
from unmask.training.session import Session
from unmask.training.step import take_step

TINY = recipe_named("tiny")
RATES = Optimizing(muon_lr=1e-2)  # rounding grows with it, and tolerances are for this one
SMALL = replace(TINY, settings=replace(TINY.settings, length=32, batch_size=8, micro_batch=4, optimizing=RATES))


@pytest.fixture(scope="module", autouse=True)
def group() -> Iterator[None]:
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def work_of(data: Path, *, sharded: bool) -> Session:
    work = Session.begin(Pretraining.of(Dataset.open(data), SMALL, 0).job(), 8)
    if sharded:
        shard_layers(work.learner, torch.device("cpu"), 1)
        work = replace(work, optimizer=Optimizer(work.learner, SMALL.settings.optimizing))
    return work


def steps(work: Session, *numbers: int) -> list[float]:
    work.learner.train()
    return [take_step(work.learner, work.optimizer, work.source, step=step).loss for step in numbers]


def test_the_layers_are_cut_and_everything_else_is_whole(data: Path) -> None:
    work = work_of(data, sharded=True)
    inside = {parameter for layer in layers_of(work.learner) for parameter in layer.parameters()}
    assert inside and {p for p in work.learner.parameters() if is_sharded(p)} == inside
    assert work.parameters == work_of(data, sharded=False).parameters


def test_steps_of_both_optimizers_on_parts_are_those_on_wholes(data: Path) -> None:
    cut, plain = work_of(data, sharded=True), work_of(data, sharded=False)
    torch.testing.assert_close(steps(cut, 0, 1, 2), steps(plain, 0, 1, 2), rtol=0, atol=1e-5)
    for (name, part), (same, parameter) in zip(
        cut.learner.named_parameters(), plain.learner.named_parameters(), strict=True
    ):
        assert name == same
        torch.testing.assert_close(full_tensor(part), parameter, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
def test_a_checkpoint_goes_on_cut_up_or_whole(data: Path, tmp_path: Path, before: bool, after: bool) -> None:
    first, second = work_of(data, sharded=before), work_of(data, sharded=after)
    steps(first, 0, 1)
    first.save(tmp_path, Position(step=2), keep=1)
    saved = checkpoint.newest(tmp_path)
    assert saved is not None and not any(map(is_sharded, saved.model.values()))
    assert second.restore(saved).step == 2
    torch.testing.assert_close(steps(second, 2, 3), steps(first, 2, 3), rtol=0, atol=1e-5)


def test_what_is_exported_is_whole_and_has_the_weights_of_the_parts(data: Path) -> None:
    work = work_of(data, sharded=True)
    steps(work, 0)
    exported = work.whole_learner()
    assert type(exported) is type(work.learner)
    for (name, part), (same, parameter) in zip(
        work.learner.named_parameters(), exported.named_parameters(), strict=True
    ):
        assert name == same and not is_sharded(parameter)
        assert torch.equal(full_tensor(part), parameter)


def test_the_norm_of_parts_and_wholes_together_is_that_of_one_row(data: Path) -> None:
    work = work_of(data, sharded=True)
    draw = torch.manual_seed(0)
    rows: list[torch.Tensor] = []
    for parameter in work.learner.parameters():
        rows.append(torch.randn(parameter.shape, generator=draw))
        parameter.grad = shard_like(rows[-1].clone(), parameter)
    norm = torch.cat([row.flatten() for row in rows]).norm()
    assert clip_gradients(work.learner.parameters(), 1.0) == pytest.approx(float(norm), rel=1e-5)
    for parameter, row in zip(work.learner.parameters(), rows, strict=True):
        assert isinstance(parameter, Parameter) and parameter.grad is not None
        torch.testing.assert_close(full_tensor(parameter.grad), row / norm)
