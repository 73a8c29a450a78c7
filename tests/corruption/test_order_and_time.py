"""Permutations and diffusion: what XLNet, MPNet and masked diffusion need beside the ids."""

import numpy as np
import pytest
from corruption_cases import VOCABULARY, batch, batches, law, rates
from scipy import stats

from unmask.corruption import policy, units
from unmask.corruption.policy import policy_named


@law(rows=batches(longest=511), rate=rates)
def test_the_order_of_a_row_is_a_permutation_of_what_is_hidden(rows, rate):
    corrupted = policy.corrupt(rows, policy_named("permutation", rate), VOCABULARY, seed=0)
    assert (corrupted.ids == rows.ids).all()
    assert ((corrupted.order > 0) == corrupted.hidden).all()
    for order in corrupted.order:
        assert sorted(order[order > 0]) == list(range(1, (order > 0).sum() + 1))


@law(rows=batches(longest=511), rate=rates)
def test_masked_permutation_hides_as_words_are_hidden_and_has_an_order_besides(rows, rate):
    corrupted = policy.corrupt(rows, policy_named("masked-permutation", rate), VOCABULARY, seed=0)
    words = policy.corrupt(rows, policy_named("word", rate), VOCABULARY, seed=0)
    assert (corrupted.ids == words.ids).all() and (corrupted.targets == words.targets).all()
    assert ((corrupted.order > 0) == corrupted.hidden).all()
    for order in corrupted.order:
        assert sorted(order[order > 0]) == list(range(1, (order > 0).sum() + 1))


@pytest.mark.parametrize("name", ["permutation", "masked-permutation"])
def test_every_order_is_equally_likely(name):
    rows = batch(rows=12_000, length=5, kind="every token a word")
    corrupted = policy.corrupt(rows, policy_named(name, 1.0), VOCABULARY, seed=0)
    _, counts = np.unique(corrupted.order[:, 1:-1], axis=0, return_counts=True)
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 0.001


def test_one_in_six_is_predicted_by_default():
    rows = batch(rows=2000, length=130)
    hidden = policy.corrupt(rows, policy_named("permutation"), VOCABULARY, seed=0).hidden.sum(axis=1)
    off = hidden - units.eligible(rows, VOCABULARY).sum(axis=1) / 6
    assert abs(off.mean()) < 5 * off.std() / np.sqrt(len(off))


def test_times_are_uniform_and_the_number_hidden_is_too():
    rows = batch(rows=6000, length=12)
    corrupted = policy.corrupt(rows, policy_named("diffusion"), VOCABULARY, seed=0)
    counts = np.bincount(corrupted.hidden.sum(axis=1), minlength=11)[1:]
    assert counts.sum() == 6000
    assert np.abs(counts - 600).max() <= 3  # evenly spread: random times would be off by about 50
    assert np.allclose(corrupted.times, corrupted.hidden.sum(axis=1) / 10)
    assert np.allclose(corrupted.weights * corrupted.times, 1)


def test_any_run_of_blocks_has_its_times_spread_evenly():
    for first in (0, 1, 17, 1_000_003, 2**40):
        rows = batch(rows=16, length=402, first=first)
        times = np.sort(policy.corrupt(rows, policy_named("diffusion"), VOCABULARY, seed=1).times)
        assert np.diff(times, prepend=0, append=1).max() < 2.7 / 16  # the golden section leaves gaps of φ² / n


@law(rows=batches(), rate=rates)
def test_diffusion_masks_every_hidden_token_and_weighs_by_the_time(rows, rate):
    corrupted = policy.corrupt(rows, policy_named("diffusion", rate), VOCABULARY, seed=0)
    assert (corrupted.ids[corrupted.hidden] == VOCABULARY.mask).all()
    tokens = units.eligible(rows, VOCABULARY).sum(axis=1)
    number = corrupted.hidden.sum(axis=1)
    assert (number <= np.ceil(rate * tokens)).all()
    assert ((number > 0) == ((tokens > 0) & (rate > 0))).all()
    assert np.allclose(corrupted.weights * number, np.where(number > 0, tokens, 0))


def test_the_weighted_loss_is_the_bound_of_random_orders():
    """On a loss that depends on how many tokens are shown, Σ loss × weight averages to the sum over an order.

    A model that reveals one token after the other pays loss(shown) for each: Σ over shown = 0 … n−1.
    """
    tokens, loss = 8, np.array([5.0, 3.0, 2.5, 2.0, 1.0, 0.9, 0.5, 0.1])
    rows = batch(rows=8000, length=tokens + 2)
    corrupted = policy.corrupt(rows, policy_named("diffusion"), VOCABULARY, seed=3)
    number = corrupted.hidden.sum(axis=1)
    estimate = (number * loss[tokens - number] * corrupted.weights).mean()
    assert abs(estimate - loss.sum()) < 0.01
