"""Which stretch of a context answers a question: candidates of all windows are pooled before they are ranked.

In: how well an answer begins and ends at each place of all windows. Out: the best stretch, and how likely it is beside
all others and beside no answer at all:

    p(token) = Σ_windows softmax over all windows        P(first … last) ∝ p_begin(first) · p_end(last)
    p(none)  = that of the window that speaks least for none, for where the answer is not, none is said rightly

A question has no answer where the odds of that are above a threshold, which is chosen on dev.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from unmask.records import Reals

NEVER = -1e30  # the logarithm of nothing, which can be computed with


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
