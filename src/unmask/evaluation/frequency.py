"""How frequent the word is that a token belongs to: bands that mean the same for every tokenizer.

In: a text and where its tokens stand. Out: a band for each token, by the rank of the word that covers it in
the training text. A word is a run of letters and digits (`\\w+`), its case ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")
LAST_RANK = np.array([100, 1_000, 10_000])  # of each band but the last two
BANDS = ("rank 1 to 100", "101 to 1,000", "1,001 to 10,000", "rarer or unseen", "no word: punctuation")
NO_WORD = len(BANDS) - 1


def word_ranks(texts: Iterable[str]) -> dict[str, int]:
    """The rank of each word by how often it occurs, from 1; equals in the order of the alphabet.

    >>> word_ranks(["The cat, the dog.", "A dog"])
    {'dog': 1, 'the': 2, 'a': 3, 'cat': 4}
    """
    counts = Counter(word.casefold() for text in texts for word in WORD.findall(text))
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: rank for rank, word in enumerate(ordered, start=1)}


def token_bands(text: str, offsets: NDArray[np.int32], rank: Mapping[str, int]) -> NDArray[np.int8]:
    """The band of each token (L offsets: its first character, and the one after its last).

    A token that covers several words has the band of the first, a part of a word that of the whole word.

    >>> [BANDS[band] for band in token_bands("the gnu.", np.array([[0, 3], [4, 6], [6, 7], [7, 8]]), {"the": 1})]
    ['rank 1 to 100', 'rarer or unseen', 'rarer or unseen', 'no word: punctuation']
    """
    words = list(WORD.finditer(text))
    # one word beyond the end, so that every token has a next word
    starts, ends = (
        np.array([*(word.span()[side] for word in words), len(text) + 1], dtype=np.int64) for side in (0, 1)
    )
    of_word = np.searchsorted(LAST_RANK, [rank.get(word[0].casefold(), LAST_RANK[-1] + 1) for word in words])
    nearest = np.searchsorted(ends, offsets[:, 0], side="right").clip(max=len(words))
    covers = starts[nearest] < offsets[:, 1]
    return np.where(covers, np.append(of_word, NO_WORD)[nearest], NO_WORD).astype(np.int8)
