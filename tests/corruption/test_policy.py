"""The laws of corruption, over every policy."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from corruption_cases import KINDS, MASK, VOCABULARY, batch, batches, law, rates
from scipy import stats

from unmask.corruption import policy, units
from unmask.corruption.policy import policy_named
from unmask.errors import BadInput
from unmask.records import Blocks

EVERY = pytest.mark.parametrize("name", sorted(policy.POLICIES))


def take(blocks: Blocks, rows) -> Blocks:
    return dataclasses.replace(
        blocks,
        ids=blocks.ids[rows],
        word_starts=blocks.word_starts[rows],
        documents=blocks.documents[rows],
        numbers=blocks.numbers[rows],
        spans={name: marks[rows] for name, marks in blocks.spans.items()},
    )


@EVERY
@law(rows=batches(), rate=rates)
def test_what_was_hidden_can_be_restored_to_the_byte(name, rows, rate):
    before = rows.ids.copy()
    corrupted = policy.corrupt(rows, policy_named(name, rate), VOCABULARY, seed=3)
    assert policy.restore(corrupted).tobytes() == before.tobytes()
    assert rows.ids.tobytes() == before.tobytes()


@EVERY
@law(rows=batches(), rate=rates)
def test_special_tokens_and_padding_are_never_hidden(name, rows, rate):
    corrupted = policy.corrupt(rows, policy_named(name, rate), VOCABULARY, seed=4)
    may = units.eligible(rows, VOCABULARY)
    assert not (corrupted.hidden & ~may).any()
    assert rows.ids[corrupted.hidden].tolist() == corrupted.targets.tolist()


@pytest.mark.parametrize("name", policy.policies_with(lambda each: not each.timed))
def test_the_mean_rate_over_draws_is_the_asked_one_at_every_length(name):
    asked = policy_named(name).rate
    deviations = []
    cases = itertools.product(sorted(KINDS), [5, 6, 7, 9, 12, 17, 25, 40, 60])
    for seed, (kind, length) in enumerate(cases):  # a seed for each: the turns of one seed are the same in all
        rows = batch(rows=4000, length=length + 2, kind=kind, seed=seed)
        hidden = policy.corrupt(rows, policy_named(name), VOCABULARY, seed=seed).hidden.sum(axis=1) / length
        error = hidden.std() / np.sqrt(len(hidden))
        deviations.append((hidden.mean() - asked) / max(error, asked / 1000))
    # 45 cases a policy: each within four standard errors, and all of them together within three
    assert np.abs(deviations).max() < 4
    assert abs(np.sum(deviations)) < 3 * np.sqrt(len(deviations))


@EVERY
@law(rows=batches(longest=128), rate=rates)
def test_an_example_is_the_same_whatever_its_batch(name, rows, rate):
    chosen = policy_named(name, rate)
    whole = policy.corrupt(rows, chosen, VOCABULARY, seed=5)
    order = np.random.default_rng(0).permutation(len(rows.ids))
    mixed = policy.corrupt(take(rows, order), chosen, VOCABULARY, seed=5)
    assert (mixed.ids == whole.ids[order]).all() and (mixed.hidden == whole.hidden[order]).all()
    alone = policy.corrupt(take(rows, order[:1]), chosen, VOCABULARY, seed=5)
    assert (alone.ids == whole.ids[order[:1]]).all()


@EVERY
def test_seed_epoch_and_block_each_change_the_example_and_nothing_else_does(name):
    rows = batch(rows=8, length=128)
    chosen = policy_named(name)
    hidden = policy.corrupt(rows, chosen, VOCABULARY, seed=0).hidden
    assert (policy.corrupt(rows, chosen, VOCABULARY, seed=0).hidden == hidden).all()
    assert (policy.corrupt(rows, chosen, VOCABULARY, seed=1).hidden != hidden).any()
    later = dataclasses.replace(rows, epoch=1)
    assert (policy.corrupt(later, chosen, VOCABULARY, seed=0).hidden != hidden).any()
    moved = dataclasses.replace(rows, numbers=rows.numbers + 8)
    assert (policy.corrupt(moved, chosen, VOCABULARY, seed=0).hidden != hidden).any()


@EVERY
def test_static_masks_do_not_change_with_the_epoch(name):
    rows = batch(rows=8, length=128)
    static = policy_named(name, redraw=False)
    first, later = (
        policy.corrupt(dataclasses.replace(rows, epoch=epoch), static, VOCABULARY, seed=0) for epoch in (0, 3)
    )
    assert (first.ids == later.ids).all() and (first.hidden == later.hidden).all()


@EVERY
def test_no_position_is_favoured(name):
    rows = batch(rows=1, length=66, kind="wordpiece", seed=2)
    many = dataclasses.replace(take(rows, np.zeros(8000, dtype=int)), numbers=np.arange(8000))
    hidden = policy.corrupt(many, policy_named(name), VOCABULARY, seed=0).hidden[:, 1:-1]
    share = hidden.mean(axis=0)
    # Six standard errors over 64 positions: a false alarm in 10 million runs of another seed.
    assert np.abs(share - share.mean()).max() < 6 * np.sqrt(share.mean() / len(hidden))


@EVERY
def test_a_policy_can_be_made_again_from_json(name):
    chosen = policy_named(name)
    assert policy.Policy(**json.loads(json.dumps(dataclasses.asdict(chosen)))) == chosen


def test_token_hides_single_tokens_uniformly():
    rows = batch(rows=512, length=130)
    corrupted = policy.corrupt(rows, policy_named("token"), VOCABULARY, seed=0)
    by_position = corrupted.hidden[:, 1:-1].sum(axis=0)
    assert stats.chisquare(by_position).pvalue > 0.001
    assert abs(corrupted.hidden[:, 1:-1].mean() - 0.15) < 1 / 128


def test_the_rate_can_be_overridden_for_a_schedule():
    rows = batch(rows=2, length=102)
    corrupted = policy.corrupt(rows, policy_named("token"), VOCABULARY, seed=0, rate=0.4)
    assert corrupted.hidden.sum(axis=1).tolist() == [40, 40]


def test_a_token_example_to_the_byte():
    rows = batch(rows=1, length=12)
    corrupted = policy.corrupt(rows, policy_named("token", 0.4, mask=1, random=0), VOCABULARY, seed=0)
    assert np.flatnonzero(corrupted.hidden[0]).tolist() == PINNED
    assert (corrupted.ids[corrupted.hidden] == MASK).all()


PINNED = [4, 5, 7, 9]  # a change here changes every run ever described by its seed: it needs a reason


@pytest.mark.parametrize("rate", [-0.1, 1.01, float("nan"), "a lot"])
def test_a_rate_outside_0_to_1_is_one_clear_line(rate):
    with pytest.raises(BadInput, match="from 0 to 1"):
        policy_named("token", rate)
    with pytest.raises(BadInput, match="from 0 to 1"):
        policy.corrupt(batch(), policy_named("token"), VOCABULARY, seed=0, rate=rate)


@pytest.mark.parametrize(
    "settings, line",
    [
        ({"mask": 0.8, "random": 0.3}, "together at most 1"),
        ({"mask": -0.1}, "together at most 1"),
        ({"replacement": "zipf"}, "replacement 'zipf' is unknown: choose from uniform, frequency"),
        ({"mean": 3}, "policy 'token' has no setting 'mean': it has mask, random, replacement"),
    ],
)
def test_a_bad_setting_is_one_clear_line(settings, line):
    with pytest.raises(BadInput, match=line):
        policy_named("token", **settings)


def test_an_unknown_policy_names_those_there_are():
    with pytest.raises(BadInput, match="no policy is called 'none': there are token"):
        policy_named("none")


def test_a_misspelt_policy_is_told_which_was_meant():
    with pytest.raises(BadInput, match=r"no policy is called 'tokn': did you mean token\?"):
        policy_named("tokn")
