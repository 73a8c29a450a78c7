"""What every objective says of itself, and what it learns from."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import pytest
import torch
from torch.nn import Linear

from unmask.corruption.policy import policies_with
from unmask.corruption.schedule import parse_schedule
from unmask.objectives.curriculum import OBJECTIVES
from unmask.objectives.objective import Objective, Outcome
from unmask.objectives.text import TextObjective
from unmask.training.sums import Sums

IN_PLACE = ["collocation", "entity", "ngram", "phrase", "span", "token", "word"]
LEARNS_FROM = {
    "mlm": IN_PLACE,
    "replaced": IN_PLACE,
    "replaced-disentangled": IN_PLACE,
    "spans": ["span"],
    "causal": [],
    "diffusion": ["diffusion"],
    "permuted": ["permutation"],
    "seq2seq": ["sentinel"],
}


def test_an_objective_learns_from_the_policies_that_have_what_it_needs() -> None:
    assert {name: policies_with(each.learns_from) for name, each in OBJECTIVES.items()} == LEARNS_FROM


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=list(OBJECTIVES))
def test_an_objective_learns_from_what_its_paper_hides(objective: TextObjective) -> None:
    assert objective.hides == bool(LEARNS_FROM[objective.name])
    if objective.usual is not None:
        assert not parse_schedule(objective.usual).policies_without(objective.learns_from)


def test_what_a_loop_needs_of_an_objective_loads_no_transformers() -> None:
    ask = "import unmask.objectives.objective, sys; print('torch' in sys.modules, 'transformers' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["True", "False"]


class Regression(Objective[Linear, torch.Tensor]):
    """A task that is none of text: a number from each row, the last column."""

    name = "regression"
    terms: ClassVar = {"squares": 0.5}

    def counts(self, batch: torch.Tensor) -> dict[str, int]:
        return {"squares": len(batch)}

    def outcome(self, learner: Linear, batch: torch.Tensor) -> Outcome:
        return Outcome({"squares": (learner(batch[:, :-1]).squeeze(1) - batch[:, -1]).square().sum()})


def test_an_objective_of_any_batch_and_learner_adds_up_over_micro_batches() -> None:
    rows, learner, objective = torch.randn(7, 4, generator=torch.Generator().manual_seed(0)), Linear(3, 1), Regression()
    sums = Sums([objective])
    for part in rows.split(3):
        for term, count in objective.counts(part).items():
            sums.counts[objective, term] += count
    parts = [objective.outcome(learner, part) for part in rows.split(3)]
    whole = 0.5 * (learner(rows[:, :-1]).squeeze(1) - rows[:, -1]).square().mean()
    torch.testing.assert_close(torch.stack([sums.loss_of(objective, part) for part in parts]).sum(), whole)
    assert objective.tally_sizes == {} and objective.figures({"squares": 7}, {}) == {}
