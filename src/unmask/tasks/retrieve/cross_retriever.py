"""A tuned model that reads a query and a document together: what reranks, what is measured and what `predict` says.

In: a model directory that tuning wrote. Out: how well each document answers its query, as the logit that
`CrossEncoder` of sentence-transformers gives too; of a long document that of its best window.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from transformers import AutoModelForSequenceClassification

from unmask.errors import Damaged
from unmask.objectives.reranking import best_logits
from unmask.records import Reals
from unmask.results import Relevance
from unmask.tasks.classify.validation import logits_of
from unmask.tasks.retrieve.retriever import RetrieveCard, read_retrieve_card
from unmask.tasks.text_rows import TextRows
from unmask.tasks.tuned_model import TunedModel


class CrossRetriever(TunedModel):
    """A tuned model that scores pairs of a query and a document."""

    card: RetrieveCard

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_retrieve_card(path)
        self.load_weights(AutoModelForSequenceClassification, device, precision)

    def scores(self, texts: Sequence[str], pairs: Sequence[str]) -> tuple[Reals, TextRows]:
        """N: how well each document answers its query; and how both were read."""
        rows = self.reader.read(texts, pairs)
        with self.casting():
            scores = logits_of(self.model, rows, pool=best_logits)[:, 0]
        if not np.isfinite(scores).all():
            raise Damaged(f"{self.directory}: the model gives numbers that are not finite; its weights are damaged")
        return scores, rows

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Relevance]:
        """How well each document answers its query."""
        self.check_pairs(pairs)
        assert pairs is not None
        scores, rows = self.scores(texts, pairs)
        return [
            Relevance(
                text=text,
                pair=pair,
                score=float(scores[number]),
                tokens_read=int(rows.tokens[number]),
                windows=int(rows.windows[number]),
            )
            for number, (text, pair) in enumerate(zip(texts, pairs, strict=True))
        ]
