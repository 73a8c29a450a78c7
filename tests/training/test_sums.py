"""Sums over micro-batches: one loss in which everything predicted weighs alike, however the step was cut up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from regression import REGRESSION, Points, Regression, build, points

from unmask.objectives.objective import Objective
from unmask.training.sums import Sums


class Heavier(Regression):
    """The same question, and three times the weight."""

    name = "heavier"
    terms: Mapping[str, float] = {"squares": 3.0}


HEAVIER = Heavier()
STEP = points(np.arange(7), noise=0.3)


def added(*parts: tuple[Objective, Points]) -> tuple[Sums, torch.Tensor]:
    """The sums of these micro-batches, and the loss that gradients come from."""
    learner, sums = build(), Sums([objective for objective, _ in parts])
    for objective, batch in parts:
        sums.count(objective, batch)
    outcomes = [(objective, objective.outcome(learner, batch)) for objective, batch in parts]
    for objective, outcome in outcomes:
        sums.add(objective, outcome)
    return sums, torch.stack([sums.loss_of(objective, outcome) for objective, outcome in outcomes]).sum()


def error_of(batch: Points) -> float:
    """The mean squared error, by hand."""
    with torch.no_grad():
        told = build()(torch.from_numpy(batch.x)).squeeze(1).numpy()
    return float(np.mean((told - batch.y) ** 2))


@pytest.mark.parametrize("cuts", [[], [3], [1, 6], [1, 2, 3, 4, 5, 6]])
def test_the_loss_of_a_step_cut_up_anywhere_is_that_of_the_whole(cuts: list[int]) -> None:
    parts = [Points(x, y) for x, y in zip(np.split(STEP.x, cuts), np.split(STEP.y, cuts), strict=True)]
    sums, learnt_from = added(*((REGRESSION, part) for part in parts))
    assert sums.loss == pytest.approx(error_of(STEP)) and float(learnt_from.detach()) == pytest.approx(sums.loss)
    assert (sums.tokens, sums.predictions) == (7, 7)
    moments = sums.tallies[REGRESSION, "moments"]
    assert moments == pytest.approx([STEP.y.sum(), np.square(STEP.y).sum()])


def test_an_objective_has_the_share_of_its_micro_batches_whatever_their_sizes() -> None:
    few, many = (points(numbers, noise=0.3) for numbers in (np.arange(2), np.arange(2, 12)))
    sums, learnt_from = added((REGRESSION, few), (HEAVIER, many), (REGRESSION, few))
    assert sums.loss == pytest.approx(2 / 3 * error_of(few) + 1 / 3 * 3 * error_of(many))
    assert float(learnt_from.detach()) == pytest.approx(sums.loss)


def test_where_nothing_is_to_be_predicted_the_loss_is_zero_and_no_division_by_it() -> None:
    sums, learnt_from = added((REGRESSION, Points(STEP.x[:0], STEP.y[:0])))
    assert sums.loss == 0.0 and float(learnt_from.detach()) == 0.0


def test_several_objectives_have_their_figures_under_their_names() -> None:
    assert added((REGRESSION, STEP))[0].figures == {}
    figures = added((REGRESSION, STEP), (HEAVIER, STEP))[0].figures
    assert figures == {"squares_loss": pytest.approx(error_of(STEP))}
