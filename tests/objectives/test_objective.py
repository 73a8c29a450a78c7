"""What every objective says of itself, and what it learns from."""

from __future__ import annotations

import subprocess
import sys

import pytest

from unmask.corruption.policy import policies_with
from unmask.corruption.schedule import parse_schedule
from unmask.objectives.curriculum import OBJECTIVES
from unmask.objectives.text import TextObjective

IN_PLACE = ["collocation", "entity", "masked-permutation", "ngram", "phrase", "span", "token", "word"]
LEARNS_FROM = {
    "mlm": IN_PLACE,
    "replaced": IN_PLACE,
    "replaced-disentangled": IN_PLACE,
    "spans": ["span"],
    "retromae": IN_PLACE,
    "tsdae": IN_PLACE,
    "causal": [],
    "diffusion": ["diffusion"],
    "permuted": ["permutation"],
    "masked-permuted": ["masked-permutation"],
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
