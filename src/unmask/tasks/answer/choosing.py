"""Which stretch of a context answers a question: candidates of all windows are pooled before they are ranked.

In: how well an answer begins and ends at each place of all windows. Out: the best stretch, and how likely it is beside
all others and beside no answer at all:

    p(token) = Σ_windows softmax over all windows        P(first … last) ∝ p_begin(first) · p_end(last)
    p(none)  = that of the window that speaks least for none, for where the answer is not, none is said rightly

A question has no answer where the odds of that are above a threshold, which is chosen on dev. What is given as the
probability of an answer is how likely it is right: the odds of the above to the power of 1 / temperature, by which the
held-out answers that are right, and those that are not, are likeliest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp

from unmask.records import Reals

NEVER = -1e30  # the logarithm of nothing, which can be computed with
TEMPERATURES = (0.05, 20.0)  # that are looked among


class BestStretch(NamedTuple):
    """The best stretch of a context, in tokens, and the logarithms of probabilities."""

    first: int
    last: int
    best: float  # of this stretch
    none: float  # of no answer

    @property
    def odds(self) -> float:
        """How much likelier no answer is than this one, in nats."""
        return self.none - self.best


def choose_span(begins: Reals, ends: Reals, none: tuple[float, float] | None, longest: int) -> BestStretch:
    """The best stretch of at most so many tokens, from how likely it begins and ends at each token, in nats.

    >>> logs = np.log([0.2, 0.7, 0.1]), np.log([0.5, 0.1, 0.4])
    >>> choice = choose_span(*logs, None, longest=2)
    >>> choice.first, choice.last, round(float(np.exp(choice.best)), 2)
    (1, 2, 0.55)
    """
    tokens = len(begins)
    best, first, size = NEVER, 0, 0
    totals = []
    for extra in range(min(longest, tokens)):
        scores = begins[: tokens - extra] + ends[extra:]
        place = int(scores.argmax())
        totals.append(float(logsumexp(scores)))
        if scores[place] > best:
            best, first, size = float(scores[place]), place, extra
    nothing = NEVER if none is None else sum(none)
    total = float(logsumexp([*totals, nothing]))
    return BestStretch(first, first + size, best - total, nothing - total)


def calibrated_probability(log_probability: float, temperature: float) -> float:
    """How likely an answer is right, from how likely it is chosen, in nats.

    >>> round(calibrated_probability(float(np.log(0.9)), 2.0), 6)
    0.75
    """
    return float(expit(log_odds(np.array([log_probability])) / temperature)[0])


def log_odds(log_probabilities: Reals) -> Reals:
    """The logarithms of odds, from those of probabilities; a probability of 1 is the greatest below it."""
    logs = np.minimum(log_probabilities, -1e-12)
    odds: Reals = logs - np.log(-np.expm1(logs))
    return odds


def fit_answer_temperature(log_probabilities: Reals, right: Reals) -> float:
    """The temperature at which it is likeliest which answers are right; 1 where all are, or none."""
    if not len(right) or right.min() == right.max():
        return 1.0
    odds = log_odds(log_probabilities)

    def loss(log_temperature: float) -> float:
        scaled = odds / np.exp(log_temperature)
        return float(np.logaddexp(0.0, np.where(right > 0, -scaled, scaled)).mean())

    best = minimize_scalar(loss, bounds=tuple(np.log(TEMPERATURES)), method="bounded")
    return float(np.exp(best.x))


def best_threshold(odds: Reals, answered: Reals, unanswered: Reals) -> float:
    """The odds of no answer above which none is given, so that scores are best on average.

    `answered` and `unanswered` are what each question scores with its best stretch, and with none.

    >>> best_threshold(np.array([-2.0, 1.0, 3.0]), np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.0, 1.0]))
    2.0
    """
    order = np.argsort(odds, kind="stable")
    gains = np.concatenate(([0.0], np.cumsum((answered - unanswered)[order])))
    edges = np.concatenate(([odds.min() - 1], (odds[order][:-1] + odds[order][1:]) / 2, [odds.max() + 1]))
    good = np.flatnonzero(gains >= gains.max() - 1e-9)
    return float(edges[good[np.argmin(np.abs(edges[good]))]])
