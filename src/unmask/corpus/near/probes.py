"""How many near-duplicates a run catches, measured in the run itself by texts made for that.

In: some documents of the corpus. Out: each again with words replaced, until its exact similarity is just above a level.
They go through like all others, and are thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from unmask.corpus.near.shingles import characters_of, fold, jaccard, runs_of, token_starts, words_of

PROBES = 200
LEAST = 60  # words of a text that a probe is made from: in fewer a word changes too much
ABOVE = 0.05  # the threshold: where probes are


@dataclass(frozen=True, kw_only=True)
class Recall:
    """Of texts made to be as similar as this, how many were caught."""

    level: float  # the similarity of probes, at least
    probes: int
    caught: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval, 95 %.

        >>> tuple(round(end, 3) for end in Recall(level=0.85, probes=200, caught=198).interval)
        (0.964, 0.997)
        """
        n, share, z = self.probes, self.caught / self.probes, 1.96
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        low, high = self.interval
        return f"caught {self.caught / self.probes:.2f} ({low:.2f}–{high:.2f}) at {self.level:.2f}"


def probe_of(text: str, level: float, seed: int) -> str | None:
    """A text whose similarity with this one is `level` or a little more; none where it has too few words for that."""
    folded = fold(text)
    starts = token_starts(characters_of(folded)).tolist()
    if len(starts) < LEAST:
        return None
    order = np.random.Generator(np.random.Philox(key=seed)).permutation(len(starts))
    low, high = 0, len(starts)  # with `low` words replaced it is similar enough, with `high` it is not
    words, ends = words_of(characters_of(folded))
    own = np.unique(runs_of(words, ends)[0])
    while high - low > 1:
        middle = (low + high) // 2
        others = words.copy()
        others[order[:middle]] = np.arange(middle, dtype=np.uint64)  # words that no text has
        similar = jaccard(own, np.unique(runs_of(others, ends)[0])) >= level
        low, high = (middle, high) if similar else (low, middle)
    if not low:
        return None
    chosen = set(order[:low].tolist())
    bounds = enumerate(zip(starts, [*starts[1:], len(folded)], strict=True))
    return "".join(f" zq{seed % 997}x{n} " if n in chosen else folded[a:b] for n, (a, b) in bounds)
