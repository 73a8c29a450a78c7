"""Which objective a micro-batch follows."""

from __future__ import annotations

import re

import pytest

from unmask.errors import BadInput
from unmask.objectives.curriculum import OBJECTIVES, Curriculum, objective_named, parse_curriculum
from unmask.stages import Stage

MLM = objective_named("mlm")


class Other(type(MLM)):  # type: ignore[misc]
    name = "other"


OTHER = Other()


def test_shares_are_kept_over_any_stretch_of_micro_batches() -> None:
    mixed = Curriculum((Stage((MLM, OTHER), (0.7, 0.3)),))
    for first in (0, 17, 100_000):
        others = sum(mixed.at(0.5, number) is OTHER for number in range(first, first + 100))
        assert 28 <= others <= 32


def test_stages_follow_each_other_and_the_last_is_what_the_training_is_for() -> None:
    staged = Curriculum((Stage((OTHER,), (1.0,), until=0.25), Stage((MLM,), (1.0,))))
    assert [staged.at(progress, 3).name for progress in (0.0, 0.249, 0.25, 1.0)] == ["other", "other", "mlm", "mlm"]
    assert staged.main is MLM and staged.objectives == (MLM, OTHER)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "guess",
            "no objective is called 'guess': there are mlm, replaced or rtd, replaced-disentangled or gdes",
        ),
        ("mlm much", "is not understood: write"),
        ("mlm -1", "is not understood: write"),
        ("mlm 0, causal 1", "is not understood: write"),
        ("mlm rate=1", "'mlm rate=1' is not understood: write"),
        ("mlm until 0; causal", "stages end at ascending shares"),
        ("mlm until 0.5", "stages end at ascending shares"),
        ("", "stages end at ascending shares"),
        ("spans until 0.5; mlm", "mlm and spans do not train the same model"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_in_one(line: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        parse_curriculum(line)


PUBLISHED = {
    "sbo": "spans",
    "rtd": "replaced",
    "gdes": "replaced-disentangled",
    "plm": "permuted",
    "mpnet": "masked-permuted",
    "span-corruption": "seq2seq",
    "mdlm": "diffusion",
    "clm": "causal",
}


def test_an_objective_is_found_by_its_published_name_and_keeps_its_own() -> None:
    assert {also: objective_named(also).name for also in PUBLISHED} == PUBLISHED
    assert {also for each in OBJECTIVES.values() for also in each.also} == PUBLISHED.keys()
    assert not PUBLISHED.keys() & OBJECTIVES.keys()
    assert str(parse_curriculum("clm until 0.5;mlm .7,clm 0.30")) == "causal until 0.5; mlm 0.7, causal 0.3"


def test_every_objective_says_what_it_is_called_where_it_was_published() -> None:
    for objective in OBJECTIVES.values():
        method, *papers = objective.paper.split("; ")
        assert method and all(re.search(r"et al\. \d{4}$", paper) for paper in papers) and papers
