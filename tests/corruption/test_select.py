import numpy as np
import pytest
from corruption_cases import NONE, VOCABULARY, batch, batches, law, rates
from scipy import stats

from unmask.corruption import select, units
from unmask.randomness import Draws

TRIALS = 20_000


def in_rows(sizes, rows):
    """The same units in every row, as `Units`."""
    length = sum(sizes)
    starts = np.cumsum([0, *sizes[:-1]])
    every = (np.arange(rows)[:, None] * length + starts).ravel()
    return units.Units.of(np.arange(rows * length), every, np.full(rows, length))


def hidden_share(sizes, rate, way=select.systematic_sample):
    hidden = way(in_rows(sizes, TRIALS), rate, Draws.of(1, 0, np.arange(TRIALS)))
    return hidden.reshape(TRIALS, len(sizes))


@pytest.mark.parametrize("way", [select.systematic_sample, select.systematic_sample_apart])
@pytest.mark.parametrize("sizes", [[1] * 20, [1, 9], [5, 1, 1, 1, 7, 2, 3, 1, 1, 2], [30, 1, 1]])
@pytest.mark.parametrize("rate", [0.02, 0.15, 0.5, 0.9])
def test_every_unit_is_hidden_equally_often_whatever_its_size_and_place(sizes, rate, way):
    hidden = hidden_share(sizes, rate, way)
    share = hidden.mean(axis=0)
    expected = share.mean()
    # Five standard errors, for 10 or so units in 32 cases: one false alarm in 10,000 runs of another seed.
    assert np.abs(share - expected).max() < 5 * np.sqrt(expected * (1 - expected) / TRIALS)


@pytest.mark.parametrize("rate", [0.15, 0.37, 0.8])
def test_the_expected_rate_is_the_asked_rate(rate):
    sizes = [5, 1, 1, 1, 7, 2, 3, 1, 1, 2, 4, 4, 1, 1, 1, 6, 2, 2, 2, 1]
    tokens = hidden_share(sizes, rate) @ np.array(sizes)
    assert abs(tokens.mean() - rate * sum(sizes)) < 5 * tokens.std() / np.sqrt(TRIALS)


def test_single_tokens_are_rounded_to_the_whole_numbers_about_the_rate_without_drift():
    counts = hidden_share([1] * 30, 0.15).sum(axis=1)
    assert set(np.unique(counts)) == {4, 5}
    assert stats.binomtest(int((counts == 5).sum()), TRIALS, 0.5).pvalue > 0.001


def test_neighbours_are_rarely_hidden_together_when_kept_apart():
    for way, ceiling in ((select.systematic_sample, 0.16), (select.systematic_sample_apart, 0.08)):
        hidden = hidden_share([1] * 40, 0.15, way)
        together = (hidden[:, 1:] & hidden[:, :-1]).sum() / hidden[:, :-1].sum()
        assert together < ceiling


@law(rows=batches(), rate=rates)
def test_a_row_is_within_one_unit_of_the_rate(rows, rate):
    for grouped in (units.tokens(rows, VOCABULARY, NONE), units.words(rows, VOCABULARY, NONE)):
        hidden = select.systematic_sample(grouped, rate, Draws.of(0, rows.epoch, rows.numbers))
        tokens = np.bincount(grouped.rows, hidden * grouped.sizes, minlength=len(rows.ids))
        largest = np.zeros(len(rows.ids))
        np.maximum.at(largest, grouped.rows, grouped.sizes)
        assert (np.abs(tokens - rate * grouped.tokens) <= largest + 1e-6).all()
        if rate in (0, 1):
            assert (hidden == rate).all()


def test_each_row_may_have_a_rate_of_its_own():
    grouped = units.tokens(batch(rows=3, length=102), VOCABULARY, NONE)
    hidden = select.systematic_sample(grouped, np.array([0.0, 0.25, 1.0]), Draws.of(0, 0, np.arange(3)))
    assert np.bincount(grouped.rows, hidden).tolist() == [0, 25, 100]
