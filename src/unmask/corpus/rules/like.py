"""Limits from a user's own good text: what nearly all of it keeps to.

In: documents that are known to be good. Out: for each rule the limits within which 99 of 100 of them are, on the side
on which the rule has a limit. So a rule drops at most one in a hundred of documents like these; that is its price, and
what it measures of others is judged by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor

import numpy as np

from unmask.corpus.rules.apply import change_text
from unmask.corpus.rules.figures import TextFigures
from unmask.corpus.rules.settings import RuleSettings
from unmask.corpus.rules.table import DOCUMENT_RULES, Limits
from unmask.errors import BadInput

KEPT = 0.99  # of good documents, by each rule
FEWEST = 20  # documents, of which nothing can be said


def trusted_limits(texts: Iterable[str], settings: RuleSettings) -> dict[str, Limits]:
    """The limits that good texts keep to, of the rules that are on; the published ones of one that measures none."""
    changed = (change_text(text, (), settings) for text in texts)
    figures = [TextFigures(each.text, language="en", removed=each.removed) for each in changed]
    if len(figures) < FEWEST:
        raise BadInput(f"--like: only {len(figures)} documents are there; give {FEWEST} or more of good text")
    return {
        name: _quantiles([rule.measure(each) for each in figures], *rule.limits)
        for name, rule in DOCUMENT_RULES.items()
        if name in settings.limits
    }


def _quantiles(values: Sequence[float | None], low: float | None, high: float | None) -> Limits:
    measured = [value for value in values if value is not None]
    if not measured:
        return low, high
    least, most = np.quantile(measured, (1 - KEPT, KEPT), method="closest_observation").tolist()
    return (None if low is None else floor(1e4 * least) / 1e4), (None if high is None else ceil(1e4 * most) / 1e4)
