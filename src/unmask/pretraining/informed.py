"""What a model knows of its text before the first step: a recipe's `init`, carried out.

In: a fresh model. Out: the same model, its token embeddings, first heads and output bias set from the training text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from torch.nn import Embedding, Module
from transformers import PreTrainedModel

from unmask.models.init import set_token_vectors, set_unigram_bias
from unmask.models.neighbours import look_at_neighbours, position_features
from unmask.pretraining.settings import Init
from unmask.progress import task
from unmask.tokens.cooccurrence import Vectors, token_vectors
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.shards import Shards

RANK = 256  # directions of co-occurrence at the most: wider models hold them among features that are still free


@dataclass
class InformedStart:
    """How the models of one run begin."""

    init: Init
    dataset: Dataset
    seed: int

    def begin(self, model: PreTrainedModel) -> None:
        """Set a model's embeddings and first layer; one without content, which is only counted, is left alone."""
        embeddings = model.get_input_embeddings()
        if embeddings is None or model.device.type == "meta":
            return
        assert isinstance(embeddings, Embedding)
        features = embeddings.embedding_dim - (position_features(model) if self.init.neighbours else 0)
        if self.init.vectors:
            special = self.dataset.vocabulary.special
            set_token_vectors(
                model, self._vectors(min(RANK, features)), special=special, features=features, seed=self.seed
            )
        if self.init.neighbours:
            look_at_neighbours(model)

    def set_frequencies(self, learner: Module) -> None:
        """Set the output bias of every head that has one."""
        if self.init.frequencies:
            set_unigram_bias(learner, self.dataset.vocabulary.counts)

    def _vectors(self, rank: int) -> Vectors:
        directory = self.dataset.split("train").directory.resolve()
        return kept_vectors(directory, self.dataset.fingerprint, self.dataset.vocabulary.size, rank)


@lru_cache(maxsize=2)  # a detector and its generator, and whatever is compared, begin with the same
def kept_vectors(directory: Path, fingerprint: str, size: int, rank: int) -> Vectors:
    """The vectors of the text in some shards, made once for all models that begin with them."""
    with task("Token vectors") as progress:
        vectors = token_vectors(Shards(directory), size, rank)
        progress(1, note=f"by what stands beside each of {size:,} tokens")
    return vectors
