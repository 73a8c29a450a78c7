import dataclasses

import numpy as np
import pytest
from corruption_cases import VOCABULARY, batch
from scipy import stats

from unmask.corruption import policy
from unmask.corruption.policy import policy_named
from unmask.corruption.schedule import corrupt_at, parse_schedule
from unmask.errors import BadInput

ROWS = batch(rows=600, length=66)


def test_a_plan_of_one_policy_is_that_policy():
    planned = corrupt_at(ROWS, parse_schedule("word"), VOCABULARY, seed=3)
    plain = policy.corrupt(ROWS, policy_named("word"), VOCABULARY, seed=3)
    assert (planned.ids == plain.ids).all() and (planned.hidden == plain.hidden).all()


def test_each_row_of_a_mixture_is_by_one_policy_as_often_as_its_weight():
    mixed = corrupt_at(ROWS, parse_schedule("span 0.7, token 0.3"), VOCABULARY, seed=0)
    alone = {name: policy.corrupt(ROWS, policy_named(name), VOCABULARY, seed=0) for name in ("span", "token")}
    by = {
        name: (mixed.ids == one.ids).all(axis=1) & (mixed.hidden == one.hidden).all(axis=1)
        for name, one in alone.items()
    }
    assert (by["span"] ^ by["token"]).all()
    assert stats.binomtest(int(by["span"].sum()), len(ROWS.ids), 0.7).pvalue > 0.001


def test_a_mixture_restores_keeps_units_and_edges_and_does_not_depend_on_the_batch():
    plan = parse_schedule("span 0.5, token 0.3, word 0.2")
    mixed = corrupt_at(ROWS, plan, VOCABULARY, seed=0)
    assert (policy.restore(mixed) == ROWS.ids).all()
    assert len(mixed.units) == len(mixed.targets) == len(mixed.edges)
    assert (np.diff(mixed.units) >= 0).all() and mixed.units[-1] < len(mixed.units)
    some = np.array([5, 590, 17])
    part = dataclasses.replace(
        ROWS,
        ids=ROWS.ids[some],
        word_starts=ROWS.word_starts[some],
        documents=ROWS.documents[some],
        numbers=ROWS.numbers[some],
    )
    assert (corrupt_at(part, plan, VOCABULARY, seed=0).ids == mixed.ids[some]).all()


def test_stages_follow_one_another():
    plan = parse_schedule("token until 0.3; phrase until 0.6; entity")
    names = [plan.at(done)[0].members[0].name for done in (0.0, 0.29, 0.3, 0.59, 0.6, 1.0)]
    assert names == ["token", "token", "phrase", "phrase", "entity", "entity"]
    for done, name in ((0.1, "token"), (0.4, "phrase"), (0.9, "entity")):
        planned = corrupt_at(ROWS, plan, VOCABULARY, seed=0, progress=done)
        assert (planned.ids == policy.corrupt(ROWS, policy_named(name), VOCABULARY, seed=0).ids).all()


def test_the_rate_of_a_plan_overrides_those_of_its_policies():
    plan = parse_schedule("token", "linear 0.5 0.25")
    for done, count in ((0.0, 32), (1.0, 16)):
        assert set(corrupt_at(ROWS, plan, VOCABULARY, seed=0, progress=done).hidden.sum(axis=1)) == {count}


def test_settings_go_to_the_policies_that_have_them():
    plan = parse_schedule("span, token", longest=4, mask=1.0, random=0.0, redraw=False)
    span, token = plan.policies
    assert span.settings["longest"] == 4 and span.settings["mask"] == token.settings["mask"] == 1.0
    assert not span.redraw and not token.redraw


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("spam", "no policy is called 'spam'"),
        ("span lots", "'span lots' is not understood"),
        ("span -1, token 1", "weights"),
        ("span 0, token 0", "weights"),
        ("span nan, token 1", "'span nan' is not understood"),
        ("token until soon; word", "'token until soon' is not understood"),
        ("token until 0.2 until 0.3; word", "is not understood"),
        ("sentinel, token", "'sentinel' gives examples of a shape of its own"),
        ("token until 0.7; word until 0.3", "stages end at"),
        ("token until 0.5", "stages end at"),
        ("", "stages end at"),
    ],
)
def test_a_plan_that_is_not_one_is_one_clear_line(line, complaint):
    with pytest.raises(BadInput, match=complaint):
        parse_schedule(line)


def test_a_setting_that_no_policy_has_is_one_clear_line():
    with pytest.raises(BadInput, match="has a setting 'longest'"):
        parse_schedule("token, word", longest=3)


@pytest.mark.parametrize(
    "line",
    [
        "span",
        "span 0.7, token 0.3",
        "token until 0.3; phrase 1, word 2 until 0.6; entity",
        "span p=0.5 longest=4 0.7, token mask=1.0 random=0.0 replacement=frequency 0.3",
        "ngram longest=2 weights=1/3 until 0.5; sentinel mean=4.0 rolled=false",
    ],
)
def test_a_plan_is_written_as_it_was_read(line):
    assert str(parse_schedule(line)) == line and parse_schedule(str(parse_schedule(line))) == parse_schedule(line)
    assert parse_schedule(line).span_kinds == [kind for kind in ("entity", "phrase") if kind in line]


def test_settings_stand_behind_their_policy():
    first, second = parse_schedule("span longest=4 0.7, token mask=1 random=0 0.3").policies
    assert first == policy_named("span", longest=4)
    assert second == policy_named("token", mask=1.0, random=0.0)
    assert parse_schedule("sentinel rolled=false").policies[0].settings["rolled"] is False


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("span longest=4.5", "setting longest=4.5: give a number"),
        ("span p=0.1/0.2", "setting p=0.1/0.2: give a number"),
        ("token mask=nan", "setting mask=nan: give a number"),
        ("span lengest=4", "policy 'span' has no setting 'lengest'"),
        ("span lengest=far", "policy 'span' has no setting 'lengest'"),
        ("sentinel rolled=1", "setting rolled=1: give true or false"),
        ("token mask=0.9 random=0.2", "together at most 1"),
        ("token replacement=often", "replacement 'often' is unknown"),
        ("span 0.7 0.3", "not understood"),
        ("span 0.7, ", "not understood"),
        ("", "stages end at"),
    ],
)
def test_a_line_that_cannot_be_read_is_one_clear_line(line, why):
    with pytest.raises(BadInput, match=why):
        parse_schedule(line)
