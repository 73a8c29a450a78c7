"""How cosines are measured against scores while a model trains: by rank, and along a straight line.

In: a model and scored pairs as rows. Out: figures on what is held out.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import pearsonr, spearmanr
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.records import Reals
from unmask.results import FigureTitle
from unmask.tasks.asked_once import AskedOnce
from unmask.tasks.sentence_batches import SentenceRows
from unmask.tasks.sentence_rows import SentenceReader
from unmask.tasks.sentence_vectors import cosines_of, vectors_of
from unmask.tasks.similarity.scored import ScoredPairs
from unmask.training.machine.distributed import ALONE, World

SPEARMAN = FigureTitle("spearman", "Spearman's rank correlation", better="more")
PEARSON = FigureTitle("pearson", "Pearson's correlation", better="more")


@dataclass(frozen=True, eq=False)
class ScoredValidation:
    """Measures on scored pairs that are held out."""

    reader: SentenceReader
    pairs: ScoredPairs
    rows: SentenceRows  # 2 N, of all of them
    asked: AskedOnce[Reals] = field(default_factory=AskedOnce, init=False)

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return int(self.rows.work.sum())

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """Both correlations on everything, or on an even sample of about so many tokens."""
        assert isinstance(learner, PreTrainedModel)
        every = 1 if limit is None else max(1, self.tokens // max(1, limit))
        pairs, rows = self.pairs, self.rows
        if every > 1 and len(pairs) >= 2 * every:
            pairs = replace(pairs, examples=pairs.examples[::every])
            rows = self.reader.read_sentences(pairs.texts)
        cosines = self.cosines(learner, world) if limit is None else pair_cosines_of(learner, rows, world=world)
        return {"spearman": rank_correlation(cosines, pairs.scores), "pearson": correlation(cosines, pairs.scores)}

    def cosines(self, learner: PreTrainedModel, world: World = ALONE) -> Reals:
        """N: those of everything."""
        return self.asked(learner, lambda: pair_cosines_of(learner, self.rows, world=world))


def pair_cosines_of(model: PreTrainedModel, rows: SentenceRows, *, world: World = ALONE) -> Reals:
    """N: the cosine of each pair, of 2 N texts of which the first N are the first of each."""
    vectors = vectors_of(model, rows, world=world)
    return cosines_of(*np.split(vectors, 2))


def rank_correlation(said: Reals, true: Reals) -> float:
    """Spearman's; 0 where either is all alike, or of fewer than two, which orders nothing."""
    if len(said) < 2:
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.nan_to_num(spearmanr(said, true).statistic))


def correlation(said: Reals, true: Reals) -> float:
    """Pearson's; 0 where either is all alike, or of fewer than two."""
    if len(said) < 2:
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.nan_to_num(pearsonr(said, true).statistic))
