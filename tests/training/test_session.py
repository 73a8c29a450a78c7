"""What a run has in memory: the same beginning each time, and any moment of it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch
from regression import ROWS, job
from torch.nn import Linear, Module, ReLU, Sequential

from unmask.errors import Damaged, Diverged
from unmask.training import checkpoint
from unmask.training.loop import Position
from unmask.training.machine.distributed import ALONE, World
from unmask.training.session import Session
from unmask.training.step import take_step


def weights(session: Session) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in session.learner.parameters()])


def take(session: Session, *steps: int) -> None:
    for step in steps:
        take_step(session.learner, session.optimizer, session.source, step=step)


def test_a_moment_that_was_kept_goes_on_as_the_one_that_was_not_stopped(tmp_path: Path) -> None:
    whole, again = (Session.begin(job(), 10) for _ in range(2))
    assert torch.equal(weights(whole), weights(again))
    take(whole, 0, 1, 2)
    whole.save(tmp_path, Position(step=3, tokens=36), keep=1)
    take(whole, 3, 4)
    saved = checkpoint.newest(tmp_path)
    assert saved is not None and again.restore(saved) == Position(step=3, tokens=36)
    take(again, 3, 4)
    assert torch.equal(weights(whole), weights(again))


def wider(*, fresh: bool = True) -> Module:
    return Sequential(Linear(3, 16), ReLU(), Linear(16, 2))


def longer(*, fresh: bool = True) -> Module:
    return Sequential(Linear(3, 16), ReLU(), Linear(16, 1), Linear(1, 1))


@pytest.mark.parametrize(
    ("build", "line"), [(wider, r"2\.weight is \(1, 16\), not \(2, 16\)"), (longer, r"3\.(weight|bias) is not in both")]
)
def test_a_moment_of_another_model_is_refused_by_the_name_of_what_differs(
    build: Callable[[], Module], line: str, tmp_path: Path
) -> None:
    session = Session.begin(job(), 10)
    take(session, 0)
    session.save(tmp_path, Position(step=1), keep=1)
    saved = checkpoint.newest(tmp_path)
    assert saved is not None
    with pytest.raises(Damaged, match=rf"the checkpoint of step 1 does not fit the model \({line}\)"):
        Session.begin(replace(job(), build=build), 10).restore(saved)


def test_weights_that_are_not_finite_are_never_kept(tmp_path: Path) -> None:
    session = Session.begin(job(), 10)
    next(session.learner.parameters()).data[0, 0] = torch.inf
    with pytest.raises(Diverged, match=r"step 4: 0\.weight has 1 of 48 values that are not finite"):
        session.save(tmp_path / "checkpoints", Position(step=4), keep=1)
    assert not (tmp_path / "checkpoints").exists()


@dataclass(frozen=True)
class Asked:
    """Notes how many tokens it is to measure on."""

    limits: list[int | None] = field(default_factory=list)
    tokens: int = 10**6

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        self.limits.append(limit)
        return {"loss": 0.0}


@pytest.mark.parametrize(
    ("steps", "limit"), [(10, 4_096), (100_000, 100_000 * ROWS // 100), (10_000_000, 65_536)], ids=str
)
def test_a_validation_takes_a_hundredth_of_what_is_trained_on_within_bounds(steps: int, limit: int) -> None:
    asked = Asked()
    Session.begin(replace(job(), validation=lambda _learner: asked), steps).validate(ALONE)
    assert asked.limits == [limit]
