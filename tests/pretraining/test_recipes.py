"""Recipes by their names, and what does not fit them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import unmask
from unmask.corruption.policy import POLICIES
from unmask.errors import BadInput
from unmask.objectives.curriculum import OBJECTIVES
from unmask.pretraining.recipes import KINDS, PAPERS, recipe_named


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_in_every_size_and_is_mini_if_none_is_named(kind: str) -> None:
    sizes = [recipe_named(f"{kind}-{size}") for size in ("tiny", "mini", "small", "base")]
    assert {made.family for made in sizes} == {KINDS[kind].family}
    assert [made.size for made in sizes] == ["tiny", "mini", "small", "base"] and recipe_named(kind).size == "mini"


@pytest.mark.parametrize(
    ("name", "near"),
    [("elektra-mini", "electra-mini"), ("bert-mnii", "bert-mini"), ("modernbret", "modernbert"), ("smal", "small")],
)
def test_a_misspelt_recipe_is_told_which_was_meant(name: str, near: str) -> None:
    with pytest.raises(BadInput, match=f"--recipe {name}: there is no such recipe; did you mean {near}\\?$"):
        recipe_named(name)


def test_an_unknown_recipe_is_told_with_all_there_are() -> None:
    with pytest.raises(BadInput, match=r"--recipe gpt5-mini: there is no such recipe; kinds are modernbert, bert, .*"):
        recipe_named("gpt5-mini")
    with pytest.raises(BadInput, match="in the sizes tiny, mini, small, base: bert-mini"):
        recipe_named("bert-huge")


@pytest.mark.parametrize(
    ("kind", "objective", "policy", "rate"),
    [
        ("bert", "mlm 0.7, causal 0.3", "token", "linear 0.3 0.15"),
        ("bert-wwm", "causal until 0.2; mlm", "word", "linear 0.3 0.15"),
        ("bert", "causal", None, None),
        ("bert", "diffusion", "diffusion", None),
        ("causal-then-mlm", "mlm", "token", "linear 0.3 0.15"),
    ],
)
def test_another_objective_brings_what_it_learns_from_unless_that_fits_already(
    kind: str, objective: str, policy: str | None, rate: str | None
) -> None:
    settings = recipe_named(kind, objective=objective).settings
    assert (settings.policy, settings.rate) == (policy, rate)
    assert recipe_named(kind, objective="mlm", policy="span").settings.policy == "span"


@pytest.mark.parametrize("objective", ["mlm", "diffusion", "mlm 0.5, causal 0.5"])
def test_an_objective_that_does_not_train_the_family_is_one_line_with_those_it_trains(objective: str) -> None:
    with pytest.raises(
        BadInput, match=r"--recipe causal: the objective .* does not train it; it trains modernbert, bert"
    ):
        recipe_named("causal", objective=objective)


def test_a_kind_may_learn_slower_than_its_size_unless_rates_are_given() -> None:
    size, slower = recipe_named("mini").settings.optimizing, recipe_named("electra-mini").settings.optimizing
    assert (slower.muon_lr, slower.adamw_lr) == (size.muon_lr / 1.5, size.adamw_lr / 1.5)
    assert recipe_named("electra-mini", optimizing=size).settings.optimizing == size


def test_a_published_name_of_an_objective_is_written_down_as_its_own() -> None:
    assert recipe_named("electra-tiny", objective="rtd") == recipe_named("electra-tiny", objective="replaced")
    assert recipe_named("bert", objective="clm until 0.5; mlm").settings.objective == "causal until 0.5; mlm"


def test_the_guide_says_where_each_kind_was_published_and_what_objectives_are_called_too() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    assert PAPERS.keys() == KINDS.keys()
    for kind, paper in PAPERS.items():
        assert any(f"`{kind}`" in line and paper in line for line in guide.splitlines()), kind
    for objective in OBJECTIVES.values():
        assert all(f"`{also}` is `{objective.name}`" in guide for also in objective.also)


def test_the_help_of_pretrain_has_every_kind_objective_and_policy_by_its_own_and_its_published_name() -> None:
    words = set(re.findall(r"[\w-]+", (unmask.pretrain.__doc__ or "").lower()))
    aliases = {alias for objective in OBJECTIVES.values() for alias in objective.also}
    assert len(KINDS) > 10 and len(POLICIES) > 5 and len(aliases) > 5
    assert {*KINDS, *OBJECTIVES, *POLICIES, *aliases} <= words


def test_small_sizes_have_one_length_and_large_ones_end_with_long_blocks() -> None:
    lengths = {size: recipe_named(size).settings.lengths for size in ("tiny", "mini", "small", "base")}
    assert [lengths[size].setting for size in ("tiny", "mini")] == [128, 128]
    for size, first in (("small", 128), ("base", 512)):
        assert lengths[size].at(0.5) == first and lengths[size].at(0.95) >= 1024
        assert all(recipe_named(f"{kind}-{size}").settings.lengths == lengths[size] for kind in KINDS)


def test_a_length_that_is_given_takes_the_place_of_the_schedule() -> None:
    assert recipe_named("small", length="512").settings.length == 512
    assert recipe_named("tiny", length="64 until .5;256").settings.length == "64 until 0.5; 256"
