"""What a policy can do is said by its functions, and true."""

import numpy as np
import pytest
from corruption_cases import VOCABULARY, batch

from unmask.corruption import policy, render, select, units
from unmask.corruption.policy import POLICIES, Composition
from unmask.corruption.properties import declares, properties_of
from unmask.corruption.schedule import parse_schedule
from unmask.records import PolicyProperties

ROWS = batch(rows=12, length=66)


def names(wanted):
    return set(policy.policies_with(wanted))


def test_each_published_policy_has_the_properties_of_its_method():
    marked = {"entity", "phrase", "collocation"}
    assert names(lambda each: not each.needs_words) == {"token", "sentinel", "diffusion"}
    assert names(lambda each: each.needs_spans) == marked
    assert names(lambda each: each.needs_sentinels) == {"sentinel"}
    assert names(lambda each: not each.in_place) == {"sentinel", "permutation"}
    assert names(lambda each: each.ordered) == {"permutation", "masked-permutation"}
    assert names(lambda each: each.timed) == names(lambda each: each.weighted) == {"diffusion"}
    assert names(lambda each: each.edges) == {"span"}
    assert names(lambda each: each.mixable) == {"token", "word", "span", "ngram", *marked}


@pytest.mark.parametrize("name", POLICIES)
def test_examples_have_what_the_properties_say_and_nothing_else(name):
    corrupted = policy.corrupt(ROWS, policy.policy_named(name), VOCABULARY, seed=0)
    says = POLICIES[name].properties
    assert (corrupted.edges is not None) == says.edges
    assert (corrupted.order is not None) == says.ordered
    assert (corrupted.weights is not None) == says.weighted
    assert (corrupted.answer is not None) == says.needs_sentinels
    shows_itself = bool((corrupted.ids == ROWS.ids).all()) if corrupted.answer is None else False
    assert (corrupted.answer is None and not shows_itself) == says.in_place
    rates = corrupted.hidden.sum(axis=1) / units.eligible(ROWS, VOCABULARY).sum(axis=1)
    assert (np.ptp(rates) > 0.3) == says.timed


@pytest.mark.parametrize("name", sorted(names(lambda each: not each.needs_words)))
def test_a_policy_that_needs_no_words_hides_the_same_whatever_they_are(name):
    from dataclasses import replace

    other = replace(ROWS, word_starts=~ROWS.word_starts)
    before, after = (policy.corrupt(rows, policy.policy_named(name), VOCABULARY, seed=0) for rows in (ROWS, other))
    assert (before.ids == after.ids).all() and (before.hidden == after.hidden).all()


def test_functions_that_declare_nothing_are_taken_to_hide_in_place_and_are_not_mixed():
    def shown(blocks, each, hidden, vocabulary, draws): ...

    own = Composition(lambda blocks, vocabulary, draws: ..., select.systematic_sample, shown)
    assert own.properties == PolicyProperties(needs_words=True, in_place=True, mixable=False)


def test_a_composition_has_what_its_parts_declare():
    dense = Composition(units.words, select.systematic_sample_timed, render.replace)  # restored in place at any rate
    assert dense.properties == PolicyProperties(timed=True, mixable=True)


def test_a_property_that_nobody_asks_for_is_an_error_where_it_is_declared():
    with pytest.raises(TypeError, match="no policy has the property 'in_plac': there are edges, in_place"):
        declares(in_plac=True)
    assert properties_of(declares(edges=True)(lambda: None)).edges


def test_a_plan_has_what_any_of_its_policies_has():
    plan = parse_schedule("token until 0.5; sentinel")
    assert plan.needs_sentinels and not plan.needs_words
    assert parse_schedule("token 1, word 1").needs_words and not parse_schedule("token").needs_sentinels
    assert parse_schedule("phrase until 0.3; entity kind=collocation").span_kinds == ["collocation", "phrase"]
