"""A tuned model that finds: what was measured is what `unmask index`, `unmask search` and `predict` do with it.

In: a model directory that tuning wrote. Out: how well a passage answers a query. `task.json` has the kind of head, and
whether documents had titles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModel

from unmask.errors import BadInput, Damaged
from unmask.records import Reals
from unmask.results import Relevance
from unmask.tasks.sentence_rows import SentenceReader
from unmask.tasks.sentence_vectors import cosines_of, vectors_of
from unmask.tasks.tuned_model import TaskCard, TunedModel, read_card


@dataclass(frozen=True, kw_only=True)
class RetrieveCard(TaskCard):
    """What a model that finds needs to be asked, beside its weights."""

    head: str  # dense, sparse or cross
    titled: bool  # whether the documents it learnt from had titles
    dimensions: tuple[int, ...] = ()  # that its vectors may be cut to


def read_retrieve_card(path: Path) -> tuple[Path, RetrieveCard]:
    """The model directory of a tuned run, and its card."""

    def make(values: dict[str, Any]) -> RetrieveCard:
        return RetrieveCard(**{**values, "dimensions": tuple(values["dimensions"])})

    return read_card(path, "retrieve", make)


class DenseRetriever(TunedModel):
    """A tuned model whose vectors of queries are near those of passages that answer them."""

    card: RetrieveCard
    reader: SentenceReader

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_retrieve_card(path)
        self.load_weights(AutoModel, device, precision)
        self.reader = SentenceReader(self.reader.tokenizer, self.card.length)

    def scores(self, texts: Sequence[str], pairs: Sequence[str]) -> tuple[Reals, Any]:
        """N: the cosine of each query with its passage; and how both were read, 2 N."""
        rows = self.reader.read_sentences([*texts, *pairs])
        with self.casting():
            cosines = cosines_of(*np.split(vectors_of(self.model, rows), 2))
        return cosines, rows

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Relevance]:
        """How well each passage answers its query."""
        self.check_pairs(pairs)
        assert pairs is not None
        scores, rows = self.scores(texts, pairs)
        if not np.isfinite(scores).all():
            raise Damaged(f"{self.directory}: the model gives numbers that are not finite; its weights are damaged")
        return [
            Relevance(
                text=text,
                pair=pair,
                score=float(scores[number]),
                tokens_read=int(rows.tokens[number] + rows.tokens[number + len(texts)]),
                windows=int(rows.windows[number] + rows.windows[number + len(texts)]),
            )
            for number, (text, pair) in enumerate(zip(texts, pairs, strict=True))
        ]


def open_retriever(path: Path, *, device: str | None = None, precision: str = "float32") -> TunedModel:
    """The tuned model of a directory, by the kind of its head."""
    from unmask.tasks.retrieve.cross_retriever import CrossRetriever
    from unmask.tasks.retrieve.sparse_retriever import SparseRetriever

    _, card = read_retrieve_card(path)
    heads: dict[str, type[TunedModel]] = {"dense": DenseRetriever, "sparse": SparseRetriever, "cross": CrossRetriever}
    if card.head not in heads:
        raise BadInput(f"{path}: has the head {card.head!r}, which this version does not know")
    return heads[card.head](path, device=device, precision=precision)
