"""A text hidden in many times over: what a policy does on the whole, and whether it favours a position.

In: a tokenizer, a text and a policy. Out: `Rolled`: the realised rate and its spread, the lengths of what is hidden
together, and how often each token was hidden.
"""

from __future__ import annotations

from collections import Counter
from math import sqrt

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.corruption.schedule import corrupt_at
from unmask.inference.show import Phrases, text_blocks
from unmask.records import Blocks
from unmask.results import Rolled

WIDE = 1.96  # standard errors: 95 positions in 100 lie within, where none is favoured


def roll_text(
    tokenizer: PreTrainedTokenizerFast,
    text: str,
    policy: str = "token",
    *,
    rate: float | str | None = None,
    seed: int = 0,
    rolls: int = 200,
    phrases: Phrases = (),
) -> Rolled:
    """Hide in a text so many times, each draw as independent of the others as those of two blocks are."""
    one = text_blocks(tokenizer, text, policy, rate=rate, phrases=phrases)
    row = one.blocks
    many = Blocks(
        np.repeat(row.ids, rolls, axis=0),
        np.repeat(row.word_starts, rolls, axis=0),
        np.repeat(row.documents, rolls, axis=0),
        np.arange(rolls, dtype=np.int64),
        0,
        {kind: np.repeat(marked, rolls, axis=0) for kind, marked in row.spans.items()},
    )
    corrupted = corrupt_at(many, one.masking, one.vocabulary, seed=seed)
    eligible = ~one.vocabulary.is_special[row.ids[0]]
    hidden = corrupted.hidden[:, eligible]
    rates = hidden.mean(1)
    units = np.arange(int(corrupted.hidden.sum())) if corrupted.units is None else corrupted.units
    rows = np.nonzero(corrupted.hidden)[0]
    sizes = Counter(Counter(zip(rows.tolist(), units.tolist(), strict=True)).values())
    mean = float(hidden.mean()) if hidden.size else 0.0
    band = WIDE * sqrt(mean * (1 - mean) / rolls)
    positions = hidden.mean(0)
    return Rolled(
        policy=policy,
        rolls=rolls,
        tokens=int(eligible.sum()),
        rate=mean,
        rate_low=float(np.quantile(rates, 0.05)) if hidden.size else 0.0,
        rate_high=float(np.quantile(rates, 0.95)) if hidden.size else 0.0,
        lengths=dict(sorted(sizes.items())),
        positions=tuple(positions.tolist()),
        band=(max(0.0, mean - band), min(1.0, mean + band)),
        outside=int(((positions < mean - band) | (positions > mean + band)).sum()),
    )
