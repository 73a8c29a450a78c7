"""What masked diffusion says of a text: a bound on its log-likelihood from below (MDLM, Sahoo et al. 2024).

    log P(x) ≥ E_l [ (n/l) Σ_{i ∈ M_l} log p(x_i | x with M_l masked) ],   l uniform in 1 … n, M_l any l of the n tokens

In: passages. Out: the rows to ask, so many draws for each window, and their weights. This is the bound of training with
its time taken out: l of n tokens are hidden rather than each with probability t. The l's are spread evenly over 1 … n,
and draws depend on the seed and on n alone, so that two texts of one length are compared on the same masks. A text in
several windows is bounded window by window, each given what stands to its left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unmask.inference.hidden_rows import HiddenRow
from unmask.inference.passages import Passage
from unmask.inference.pseudo import window_row
from unmask.records import Vocabulary
from unmask.tokens.windows import Reading

DRAWS = 64  # rows of a window


def bound_rows(
    number: int, passage: Passage, reading: Reading, vocabulary: Vocabulary, *, draws: int = DRAWS, seed: int = 0
) -> Iterator[HiddenRow]:
    """The rows of a passage; the tokens before it stay in sight, and so does what stands behind it in the window."""
    for window in reading.windows:
        first, last = max(window.first, passage.first), min(window.last, passage.last)
        if (count := last - first) < 1:
            continue
        row = window_row(passage.ids, window, vocabulary)
        generator = np.random.default_rng([seed, count])
        start = generator.random()
        for draw in range(draws):
            hidden = 1 + int((draw + start) / draws * count)
            places = np.sort(generator.permutation(count)[:hidden]) + first
            ids = row.copy()
            ids[places - window.begin + 1] = vocabulary.mask
            asked = places - window.begin + 1
            yield HiddenRow(number, ids, asked, passage.ids[places], places, count / hidden / draws)
