"""The loop, on arrays: from a position to the last step, and no further than makes sense."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from regression import Points, Preparer, Rows, job

from unmask.errors import Diverged
from unmask.training.health import Recent
from unmask.training.loop import PATIENCE, Position, train
from unmask.training.session import Session
from unmask.training.timetable import Timetable

AT = Position(step=7, tokens=84, skipped=1, seconds=2.5, splits=2, recent=Recent(losses=(1.0, 0.5), spikes=1))


def test_a_position_comes_back_from_json() -> None:
    assert Position.of(json.loads(json.dumps(asdict(AT)))) == AT


@pytest.mark.parametrize(
    ("field", "value"),
    [("step", -1), ("tokens", "many"), ("skipped", True), ("seconds", float("nan")), ("splits", None)],
)
def test_what_is_no_position_is_refused_by_the_name_of_the_field(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{field} is {value!r}"):
        Position.of({**asdict(AT), field: value})


@dataclass(frozen=True)
class Spoilt(Preparer):
    """No number in the micro-batches from one to another, each of four rows."""

    begin: int = 0
    end: int = 0

    def batch(self, request: tuple[int, int]) -> Points:
        right = super().batch(request)
        bad = self.begin * 4 <= request[0] < self.end * 4
        return replace(right, y=np.full_like(right.y, np.nan)) if bad else right


def trained(
    steps: int, position: Position, preparer: Preparer
) -> tuple[list[Position], list[dict[str, Any]], list[torch.Tensor]]:
    """Where the run stood after each step, what was logged of it, and the weights."""
    session = Session.begin(job(), steps)
    positions: list[Position] = []
    logged: list[dict[str, Any]] = []
    weights: list[torch.Tensor] = []

    def after_step(now: Position, figures: dict[str, Any]) -> None:
        positions.append(now)
        logged.append(figures)
        weights.append(torch.cat([parameter.detach().flatten() for parameter in session.learner.parameters()]))

    source = Rows(Timetable(steps), preparer=preparer)
    try:
        train(session.learner, session.optimizer, source, position=position, after_step=after_step)
    except Diverged as error:
        logged.append({"error": str(error)})
    return positions, logged, weights


def test_it_goes_from_its_position_to_the_last_step() -> None:
    positions, logged, _ = trained(10, Position(step=6, tokens=72), Preparer())
    assert [(each.step, each.tokens) for each in positions] == [(7, 84), (8, 96), (9, 108), (10, 120)]
    assert [line["step"] for line in logged] == [7, 8, 9, 10]
    assert trained(10, Position(step=10), Preparer()) == ([], [], [])


def test_a_step_without_a_number_changes_nothing_and_names_its_rows() -> None:
    positions, logged, weights = trained(6, Position(), Spoilt(begin=10, end=11))  # the second third of the fourth step
    assert [line.get("skipped", False) for line in logged] == [False, False, False, True, False, False]
    assert [line.get("rows") for line in logged] == [None, None, None, list(range(36, 48)), None, None]
    assert [each.skipped for each in positions] == [0, 0, 0, 1, 0, 0]
    assert torch.equal(weights[3], weights[2]) and not torch.equal(weights[4], weights[3])
    assert torch.isfinite(weights[-1]).all()


def test_steps_in_a_row_without_a_number_end_the_run_and_as_many_apart_do_not() -> None:
    positions, logged, weights = trained(30, Position(), Spoilt(begin=6, end=90))
    assert positions[-1].step == 2 + PATIENCE and torch.equal(weights[-1], weights[1])
    assert f"step {2 + PATIENCE}: " in logged[-1]["error"] and "rows of the last: 72, 73" in logged[-1]["error"]
    positions, _, _ = trained(12, Position(), Spoilt(begin=6, end=6 + 3 * (PATIENCE - 1)))
    assert positions[-1].step == 12 and max(each.skipped for each in positions) == PATIENCE - 1
