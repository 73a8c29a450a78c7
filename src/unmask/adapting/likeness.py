"""Whether the vectors of a sentence encoder still tell what is alike, before and after it was adapted.

In: an encoder that was tuned for vectors of sentences, before and after. Out: `Likeness` on each text: how many
held-out documents, cut in the middle, find their own second half among all second halves by the cosine, which takes no
labels; and the rank correlation with scored pairs, where some are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput
from unmask.inference.embed import TextPooling, embed_texts
from unmask.inference.sentence_layout import chosen_pooling
from unmask.inference.vector_store import normalised
from unmask.inference.vectors import Encoder
from unmask.intervals import bootstrap_figure, wilson_figure
from unmask.results import Figure, Likeness
from unmask.tasks.similarity.scored import read_scored
from unmask.tasks.similarity.validation import rank_correlation
from unmask.tokens.store.dataset import Dataset

DOCUMENTS = 256  # that halves are made of
FEWEST_WORDS, MOST_WORDS = 16, 200  # of a document: more are left away

Vectors = NDArray[np.float32]


def compare_halves(name: str, dataset: Dataset, directory: Path, before: Encoder, after: Encoder) -> Likeness | None:
    """How many documents find their other half; none where there are too few."""
    texts = (text.split()[:MOST_WORDS] for text in dataset.texts("valid"))
    documents = list(islice((words for words in texts if len(words) >= FEWEST_WORDS), DOCUMENTS))
    if len(documents) < 2:
        return None
    halves = [
        *(" ".join(words[: len(words) // 2]) for words in documents),
        *(" ".join(words[len(words) // 2 :]) for words in documents),
    ]
    figures = [_matched(*np.split(_vectors(encoder, halves, directory), 2)) for encoder in (before, after)]
    title = f"{name}: documents that find their other half"
    return Likeness(measure=title, examples=len(documents), before=figures[0], after=figures[1])


def compare_scored(pairs: Path, directory: Path, before: Encoder, after: Encoder) -> Likeness:
    """The rank correlation of cosines with the scores of pairs."""
    scored = read_scored(pairs)
    figures = []
    for encoder in (before, after):
        first, second = np.split(_vectors(encoder, scored.texts, directory), 2)
        figures.append(_correlated((first * second).sum(1).astype(np.float64), scored.scores))
    title = f"{pairs.name}: Spearman's rank correlation"
    return Likeness(measure=title, examples=len(scored), before=figures[0], after=figures[1])


def _correlated(cosines: NDArray[np.float64], scores: NDArray[np.float64]) -> Figure:
    return bootstrap_figure(np.arange(len(scores)), lambda chosen: rank_correlation(cosines[chosen], scores[chosen]))


def _matched(first: Vectors, second: Vectors) -> Figure:
    """The share of rows whose nearest row on the other side is their own."""
    nearest = (first @ second.T).argmax(1)
    return wilson_figure(int((nearest == np.arange(len(first))).sum()), len(first))


def _vectors(encoder: Encoder, texts: Sequence[str], directory: Path) -> Vectors:
    """N D: the vectors of texts, pooled as the directory says, each of length 1."""
    pooling = TextPooling.named(chosen_pooling(directory, None), encoder)
    rows = []
    for made in embed_texts(encoder, texts, pooling):
        if isinstance(made, BadInput):
            raise made
        rows.append(made.vector)
    return normalised(np.stack(rows))
