"""A tuned model that says how alike two texts are: what evaluation measures and what `predict` says are this object.

In: a model directory that tuning wrote. Out: the cosine of each pair, and the score that a cosine stood for on the
held-out pairs. `task.json` has the straight line between the two, and the range of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from transformers import AutoModel

from unmask.errors import Damaged
from unmask.records import Reals
from unmask.results import Similarity
from unmask.tasks.sentence_batches import SentenceRows
from unmask.tasks.sentence_rows import SentenceReader
from unmask.tasks.similarity.validation import pair_cosines_of
from unmask.tasks.tuned_model import TaskCard, TunedModel, read_card


@dataclass(frozen=True, kw_only=True)
class SimilarityCard(TaskCard):
    """What a model of similarity needs to be asked, beside its weights."""

    low: float  # the lowest score that was learnt from
    high: float  # and the highest
    slope: float = 1.0  # of the line from cosines to scores
    intercept: float = 0.0


class PairScorer(TunedModel):
    """A tuned model that says how alike two texts are."""

    card: SimilarityCard
    reader: SentenceReader

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_card(path, "similarity", lambda values: SimilarityCard(**values))
        self.load_weights(AutoModel, device, precision)
        self.reader = SentenceReader(self.reader.tokenizer, self.card.length)

    def cosines(self, rows: SentenceRows) -> Reals:
        """N: the cosines of pairs, of 2 N texts of which the first N are the first of each."""
        with self.casting():
            cosines = pair_cosines_of(self.model, rows)
        if not np.isfinite(cosines).all():
            raise Damaged(f"{self.directory}: the model gives numbers that are not finite; its weights are damaged")
        return cosines

    def scores(self, cosines: Reals) -> Reals:
        """N: what cosines stand for, within the range of the scores."""
        scores: Reals = np.clip(self.card.intercept + self.card.slope * cosines, self.card.low, self.card.high)
        return scores

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Similarity]:
        """How alike the texts of each pair are."""
        self.check_pairs(pairs)
        assert pairs is not None
        rows = self.reader.read_sentences([*texts, *pairs])
        cosines = self.cosines(rows)
        scores, count = self.scores(cosines), len(texts)
        return [
            Similarity(
                text=text,
                pair=pair,
                cosine=float(cosines[number]),
                score=float(scores[number]),
                low=self.card.low,
                high=self.card.high,
                tokens_read=int(rows.tokens[number] + rows.tokens[number + count]),
                windows=int(rows.windows[number] + rows.windows[number + count]),
            )
            for number, (text, pair) in enumerate(zip(texts, pairs, strict=True))
        ]


def fitted_line(cosines: Reals, scores: Reals) -> tuple[float, float]:
    """The slope and the intercept of the straight line through held-out pairs with the least squared error.

    >>> fitted_line(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 3.0]))
    (2.0, 1.0)
    """
    spread = float(((cosines - cosines.mean()) ** 2).sum())
    slope = float(((cosines - cosines.mean()) * (scores - scores.mean())).sum()) / spread if spread > 0 else 0.0
    return slope, float(scores.mean() - slope * cosines.mean())
