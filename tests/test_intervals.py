from math import isnan

import numpy as np
import pytest

from unmask.intervals import difference_figure, mean_figure, ratio_figure, share_figure, wilson_figure


def clustered(rng: np.random.Generator, documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Values that go together within documents of very different lengths, with mean 3 over all tokens.

    The effect of a document has mean 0 whatever its length, so the mean of the ratio of sums is 3 too.
    """
    sizes = rng.integers(1, 60, documents)
    values = 3 + np.repeat(rng.normal(size=documents), sizes) + rng.normal(size=sizes.sum())
    return values, np.repeat(np.arange(documents), sizes)


def test_the_interval_agrees_with_a_bootstrap_over_documents() -> None:
    rng = np.random.default_rng(0)
    values, documents = clustered(rng, 200)
    sums, sizes = np.bincount(documents, weights=values), np.bincount(documents)
    drawn = rng.integers(0, 200, (4000, 200))
    means = sums[drawn].sum(1) / sizes[drawn].sum(1)
    figure = mean_figure(values, documents)
    assert figure.value == pytest.approx(values.mean())
    assert (figure.low, figure.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.03)


def test_95_of_100_intervals_hold_the_true_mean() -> None:
    rng = np.random.default_rng(1)
    figures = [mean_figure(*clustered(rng, 40)) for _ in range(2000)]
    held = np.mean([figure.low <= 3 <= figure.high for figure in figures])
    assert held == pytest.approx(0.95, abs=0.02)  # four standard errors of 2,000 trials


def test_an_interval_that_took_tokens_for_independent_would_be_too_narrow() -> None:
    values, documents = clustered(np.random.default_rng(2), 100)
    naive = 1.96 * values.std() / np.sqrt(len(values))
    figure = mean_figure(values, documents)
    assert figure.high - figure.value > 2 * naive


def test_the_numbers_of_documents_and_the_order_of_tokens_say_nothing() -> None:
    values, documents = clustered(np.random.default_rng(3), 30)
    order = np.random.default_rng(4).permutation(len(values))
    one, other = mean_figure(values, documents), mean_figure(values[order], documents[order] * 7 + 1000)
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))


def test_one_document_tells_no_interval_and_none_no_mean() -> None:
    alone = mean_figure(np.array([1.0, 2.0]), np.array([5, 5]))
    assert alone.value == 1.5 and isnan(alone.low) and isnan(alone.high)
    assert isnan(mean_figure(np.zeros(0), np.zeros(0, dtype=np.int64)).value)


def test_a_share_stays_between_none_and_all() -> None:
    figure = share_figure(np.array([True, True, True, False]), np.array([0, 1, 2, 3]))
    assert (figure.value, figure.high) == (0.75, 1.0)
    assert 0 <= figure.low < 0.75


def test_the_difference_of_ratios_that_go_together_is_known_better_than_each_and_as_well_as_it_says() -> None:
    rng = np.random.default_rng(5)
    held, narrower = [], []
    for _ in range(2000):
        effect, sizes = rng.normal(size=60), rng.integers(5, 60, (2, 60)).astype(float)
        first, second = ((3 + effect + own) * sizes[0] for own in (1.0, rng.normal(scale=0.1, size=60)))
        second = second / sizes[0] * sizes[1]
        figure = difference_figure((first, sizes[0]), (second, sizes[1]))
        alone = ratio_figure(first, sizes[0])
        assert figure.value == pytest.approx(alone.value - ratio_figure(second, sizes[1]).value)
        held.append(figure.low <= 1 <= figure.high)
        narrower.append((figure.high - figure.low) / (alone.high - alone.low))
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)
    assert np.median(narrower) < 0.9


def test_a_difference_of_a_ratio_and_itself_is_nothing_for_sure() -> None:
    samples = (np.array([1.0, 4.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    figure = difference_figure(samples, samples)
    assert (figure.value, figure.low, figure.high) == (0, 0, 0)


def test_of_a_share_of_none_or_all_the_number_of_documents_tells_how_far_it_may_be_off() -> None:
    documents = np.repeat(np.arange(40), 5)
    none, every = share_figure(np.zeros(200, bool), documents), share_figure(np.ones(200, bool), documents)
    assert (none.value, none.low, every.value, every.high) == (0, 0, 1, 1)
    assert none.high == pytest.approx(wilson_figure(0, 40).high) and 0.05 < none.high < 0.1
    assert 1 - every.low == pytest.approx(none.high)
    rare = share_figure(np.arange(200) == 7, documents)  # as soon as documents differ, they tell
    assert rare.high == pytest.approx(mean_figure((np.arange(200) == 7).astype(float), documents).high)
