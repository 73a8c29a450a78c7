"""Figures on held-out text: the same whoever computes them, and no trace of it in the learner."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from pathlib import Path

import pytest
import torch

from unmask.objectives.curriculum import objective_named
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.validation import evaluating, measure_masks, measure_objective
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import ALONE, World
from unmask.training.session import Session


@dataclass(frozen=True)
class Unheard(World):
    """One of several processes, whose sums are its own: nobody adds them up."""

    def total(self, *figures: float) -> list[float]:
        return [float(figure) for figure in figures]


def session_of(data: Path, kind: str) -> Session:
    return Session.begin(Pretraining.of(Dataset.open(data), recipe_named(f"{kind}-tiny", length=64)).job(), 4)


def text_of(data: Path, policy: str | None) -> HeldOutSet:
    """More text than one batch takes."""
    dataset = Dataset.open(data)
    text = HeldOutSet.of(dataset.split("train"), dataset.vocabulary, length=64, policy=policy)
    assert len(list(text.batches())) >= 3
    return text


@pytest.mark.parametrize("kind", ["bert", "causal", "electra"])
def test_perplexity_is_e_to_the_loss_of_whatever_is_measured(kind: str, data: Path) -> None:
    figures = session_of(data, kind).measure(512, ALONE)
    assert 2 < figures["loss"] < 10 and figures["perplexity"] == pytest.approx(exp(figures["loss"]))


@pytest.mark.parametrize("spare", [-1, 1])
def test_the_shares_of_processes_add_up_to_the_whole_though_some_have_less_to_do(spare: int, data: Path) -> None:
    model, text = session_of(data, "bert").learner, text_of(data, "token")
    size = len(list(text.batches())) + spare  # so that a process computes what another counts
    whole = measure_masks(model, text)  # type: ignore[arg-type]
    parts = [measure_masks(model, text, world=Unheard(rank, size)) for rank in range(size)]  # type: ignore[arg-type]
    assert sum(part["predictions"] for part in parts) == whole["predictions"] > 1000
    assert whole["accuracy"] > 0
    for name in ("loss", "accuracy"):
        added = sum(part[name] * part["predictions"] for part in parts)
        assert added / whole["predictions"] == pytest.approx(whole[name], rel=1e-6)


def test_an_objective_that_draws_draws_the_same_however_many_processes_share_the_text(data: Path) -> None:
    objective, learner, text = objective_named("rtd"), session_of(data, "electra").learner, text_of(data, "token")
    whole = measure_objective(learner, objective, text)
    parts = [measure_objective(learner, objective, text, world=Unheard(rank, 2)) for rank in range(2)]
    assert len(whole.losses) == 2
    for term, loss in whole.losses.items():
        assert sum(part.losses[term] for part in parts) == pytest.approx(loss, rel=1e-6)
        assert sum(part.counts[term] for part in parts) == whole.counts[term]
    for name, tally in whole.tallies.items():
        assert sum(part.tallies[name] for part in parts).tolist() == tally.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("training", [True, False])
def test_dropout_is_off_while_it_measures_and_as_before_afterwards_even_if_it_fails(training: bool) -> None:
    learner = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5)).train(training)
    with pytest.raises(ZeroDivisionError), evaluating(learner):
        assert not any(module.training for module in learner.modules())
        raise ZeroDivisionError
    assert {module.training for module in learner.modules()} == {training}
