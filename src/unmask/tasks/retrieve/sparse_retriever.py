"""A tuned model that weighs words: those that a text has, and those that it gains from the masked-LM head.

In: a model directory that tuning wrote. Out: for each text the weights of the vocabulary, most of them 0: what
`unmask index` keeps, what evaluation measures, and what `predict` shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, vstack
from transformers import AutoModelForMaskedLM, PreTrainedModel

from unmask.errors import Damaged
from unmask.objectives.sparse_ranking import word_weights
from unmask.progress import Step
from unmask.results import Expanded, WordWeight
from unmask.tasks.retrieve.retriever import RetrieveCard, read_retrieve_card
from unmask.tasks.sentence_batches import SentenceRows
from unmask.tasks.sentence_rows import SentenceReader
from unmask.tasks.tuned_model import TunedModel
from unmask.tokens.bucket import batches_by_length

TOKENS, ROWS = 4_096, 64  # in a forward pass at the most, padding among them, or one text
SHOWN = 40  # words of a text that are given, the heaviest


@torch.no_grad()
def weights_of(model: PreTrainedModel, rows: SentenceRows, step: Step | None = None) -> Any:
    """N V, sparse: the weights of words for each text; texts of like length are computed together."""
    parts, order = [], []
    was_training = model.training
    model.eval()
    try:
        for numbers in batches_by_length(rows.work, tokens=TOKENS, rows=ROWS):
            parts.append(csr_matrix(word_weights(model, rows.batch(numbers)).cpu().numpy()))
            order.append(numbers)
            if step is not None:
                step(len(numbers))
    finally:
        model.train(was_training)
    places = np.argsort(np.concatenate(order), kind="stable")
    return vstack(parts, format="csr")[places]


class SparseRetriever(TunedModel):
    """A tuned model that weighs the words of texts."""

    card: RetrieveCard
    reader: SentenceReader

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_retrieve_card(path)
        self.load_weights(AutoModelForMaskedLM, device, precision)
        self.reader = SentenceReader(self.reader.tokenizer, self.card.length)

    @property
    def vocabulary(self) -> int:
        """How many words can have a weight."""
        return int(self.model.config.get_text_config().vocab_size)

    def weigh(self, texts: Sequence[str]) -> Any:
        """N V, sparse: the weights of words for each text."""
        with self.casting():
            weights = weights_of(self.model, self.reader.read_sentences(texts))
        if not np.isfinite(weights.data).all():
            raise Damaged(f"{self.directory}: the model gives numbers that are not finite; its weights are damaged")
        return weights

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Expanded]:
        """The words that each text is found by, the heaviest first."""
        self.check_pairs(pairs)
        rows = self.reader.read_sentences(texts)
        weights = self.weigh(texts)
        results = []
        for number, text in enumerate(texts):
            own = set(rows.batch([number]).ids.ravel().tolist())
            row = weights[number]
            heaviest = np.argsort(-row.data, kind="stable")[:SHOWN].tolist()
            words = [(int(row.indices[place]), float(row.data[place])) for place in heaviest]
            results.append(
                Expanded(
                    text=text,
                    words=tuple(
                        WordWeight(word=self._spelt(word), weight=weight, gained=word not in own)
                        for word, weight in words
                    ),
                    active=int(row.nnz),
                    tokens_read=int(rows.tokens[number]),
                    windows=int(rows.windows[number]),
                )
            )
        return results

    def _spelt(self, word: int) -> str:
        return str(self.reader.tokenizer.convert_ids_to_tokens(word)).strip("Ġ▁ ")
