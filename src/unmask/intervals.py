"""Measured values with the interval they are known to.

In: one value for each hidden token, and the document it stands in. Out: their mean with its 95 % interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, t

from unmask.records import Integers, Reals
from unmask.results import Figure

RESAMPLES = 1_000  # samples that an interval is taken from
RESAMPLED = 1 << 22  # numbers drawn at once


def mean_figure(values: NDArray[np.floating], documents: Integers) -> Figure:
    """The mean over all tokens, known as well as a sample of whole documents tells it.

    Tokens of one document go together, so documents are what was sampled: the mean is a ratio of two sums
    over the D documents, Σy/Σn, and its variance that of the residuals y − mean·n (linearised; Student's t with
    D − 1 degrees of freedom). One document alone tells no interval.
    """
    return ratio_figure(*_sums_by_document(values, documents))


def _sums_by_document(values: NDArray[np.floating] | NDArray[np.bool_], documents: Integers) -> tuple[Reals, Reals]:
    """D each: what the values of each document sum up to, and how many there are."""
    _, clusters = np.unique(documents, return_inverse=True)
    sums: Reals = np.bincount(clusters, weights=values)  # type: ignore[assignment]
    return sums, np.bincount(clusters).astype(np.float64)


def ratio_figure(numerators: Reals, denominators: Reals) -> Figure:
    """Σ numerators / Σ denominators over what was sampled, each with one of both; one alone tells no interval."""
    value = _ratio(numerators, denominators)
    return _around(value, _influences(numerators, denominators))


def difference_figure(first: tuple[Reals, Reals], second: tuple[Reals, Reals]) -> Figure:
    """One ratio minus another of the same samples, each with numerators and denominators of both.

    What makes a sample high in both cancels: two intervals of their own would not know that.
    """
    return _around(_ratio(*first) - _ratio(*second), _influences(*first) - _influences(*second))


def within(figure: Figure, lowest: float, highest: float) -> Figure:
    """A figure whose interval stays between two values."""
    return Figure(figure.value, *np.clip((figure.low, figure.high), lowest, highest).tolist())


def _ratio(numerators: Reals, denominators: Reals) -> float:
    total = float(denominators.sum())
    return float(numerators.sum()) / total if total else nan


def _influences(numerators: Reals, denominators: Reals) -> Reals:
    """What each sample adds to a ratio of sums, to first order; they add up to 0."""
    influences: Reals = (numerators - _ratio(numerators, denominators) * denominators) / (denominators.sum() or nan)
    return influences


def _around(value: float, influences: Reals) -> Figure:
    count = len(influences)
    if count < 2:
        return Figure(value, nan, nan)
    deviation = sqrt(count / (count - 1) * float(influences @ influences))
    half_width = float(t.ppf(0.975, count - 1)) * deviation
    return Figure(value, value - half_width, value + half_width)


def share_figure(flags: NDArray[np.bool_], documents: Integers) -> Figure:
    """The part that is true; its interval stays between 0 and 1."""
    return share_of_sums(*_sums_by_document(flags, documents))


def share_of_sums(numerators: Reals, denominators: Reals) -> Figure:
    """A part of a whole, Σ numerators / Σ denominators, with an interval between 0 and 1.

    Where all of it is true, or none, no document differs from another, and their spread would tell that nothing can be
    otherwise. Then they are counted, each as one draw that came out alike, and Wilson's interval is that of so many.
    """
    figure, count = within(ratio_figure(numerators, denominators), 0.0, 1.0), len(numerators)
    if count < 2 or 0 < figure.value < 1:
        return figure
    return replace(wilson_figure(round(figure.value * count), count), value=figure.value)


def wilson_figure(right: int, total: int) -> Figure:
    """The part of independent answers that are right, with Wilson's interval.

    >>> wilson_figure(9, 10)
    Figure(value=0.9, low=0.5958499732047615, high=0.9821237869049271)
    """
    if not total:
        return Figure(nan, nan, nan)
    interval = binomtest(right, total).proportion_ci(0.95, "wilson")
    return Figure(right / total, float(interval.low), float(interval.high))


def resampled_figure(counts: Reals, clusters: Integers, statistic: Callable[[Reals], Reals]) -> Figure:
    """A statistic of summed counts, N K, with the interval of 1,000 samples of as many clusters, with replacement.

    The statistic takes sums over texts, … K, and gives one number for each.
    """
    _, places = np.unique(clusters, return_inverse=True)
    sums = np.zeros((int(places.max(initial=-1)) + 1, counts.shape[1]))
    np.add.at(sums, places, counts)
    value = float(statistic(sums.sum(0)))
    if len(sums) < 2:
        return Figure(value, nan, nan)
    draw = np.random.default_rng(0)
    at_once = max(1, RESAMPLED // len(sums))
    values = []
    for begin in range(0, RESAMPLES, at_once):
        times = draw.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=min(at_once, RESAMPLES - begin))
        values.append(statistic(times @ sums))
    low, high = np.quantile(np.concatenate(values), (0.025, 0.975))
    return Figure(value, float(low), float(high))


def bootstrap_figure(clusters: Integers, statistic: Callable[[Integers], float]) -> Figure:
    """A statistic of things with the interval of 1,000 samples of as many clusters of them, with replacement.

    The statistic takes the numbers of things, some several times, and gives one number: for what is no function of
    sums, such as a rank correlation.
    """
    _, places = np.unique(clusters, return_inverse=True)
    value = statistic(np.arange(len(clusters)))
    count = int(places.max(initial=-1)) + 1
    if count < 2:
        return Figure(value, nan, nan)
    order = np.argsort(places, kind="stable")
    begins = np.searchsorted(places[order], np.arange(count + 1))
    draw = np.random.default_rng(0)
    values = []
    for _ in range(RESAMPLES):
        chosen = draw.integers(count, size=count)
        values.append(statistic(np.concatenate([order[begins[each] : begins[each + 1]] for each in chosen])))
    low, high = np.quantile(values, (0.025, 0.975))
    return Figure(value, float(low), float(high))
