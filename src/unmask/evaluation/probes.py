"""Linear probes: how much of what is asked can be read off a frozen model's vectors.

In: an encoder and a question. Out: a score with its interval. A logistic regression on vectors of the last layer,
which is all that learns; documents that it is tested on are none of those it learnt from (Alain & Bengio 2017;
Conneau et al. 2018).

    classification   accuracy
    tagging          F1 of the words that have a tag, summed over tags: precision and recall of everything but "O"
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from unmask.evaluation.features import Encoder, text_vectors, word_vectors
from unmask.evaluation.questions import NONE, ProbeTask
from unmask.records import Flags, Integers, Reals
from unmask.results import Figure

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)  # of the data against the wish for small weights
WEIGHTS = (None, "balanced")  # of labels; where most words are "O", equal ones may find nothing else
CHOOSING = 8_000  # rows that the choice is made on
RESAMPLES = 1_000
ITERATIONS = 200  # quick: what has not settled by then is taken as it is

Labels = NDArray[np.str_]


@dataclass(frozen=True)
class Rows:
    """What is told apart, one row for each text or word."""

    labels: Labels
    documents: Integers
    tested: Flags


def rows_of(question: ProbeTask) -> Rows:
    """The labels of a question, flat."""
    tags = [(labels,) if isinstance(labels, str) else labels for labels in question.labels]
    counts = [len(each) for each in tags]
    return Rows(
        np.array([tag for each in tags for tag in each]),
        np.repeat(question.documents, counts),
        np.repeat(question.tested, counts),
    )


def vectors_of(encoder: Encoder, question: ProbeTask) -> Reals:
    """What the model knows of each row."""
    if question.kind == "classification":
        return text_vectors(encoder, question.items)  # type: ignore[arg-type]
    return np.concatenate(word_vectors(encoder, question.items))


def probe(encoder: Encoder, question: ProbeTask) -> Figure:
    """How well a linear probe on a model's vectors answers a question."""
    rows, vectors = rows_of(question), vectors_of(encoder, question)
    learnt, tested = ~rows.tested, rows.tested
    fitted = fit(vectors[learnt], rows.labels[learnt], rows.documents[learnt])
    return score(rows.labels[tested], fitted.predict(vectors[tested]), rows.documents[tested])


def majority(question: ProbeTask) -> float:
    """The score of always saying the most frequent label."""
    rows = rows_of(question)
    labels, counts = np.unique(rows.labels[~rows.tested], return_counts=True)
    true = rows.labels[rows.tested]
    return score(true, np.full(len(true), labels[counts.argmax()]), rows.documents[rows.tested]).value


def fit(vectors: Reals, labels: Labels, documents: Integers) -> Pipeline:
    """A logistic regression on standardised vectors, with the settings that serve a fifth of the documents best."""
    aside = np.isin(documents, np.unique(documents)[::5])
    use = np.flatnonzero(~aside)
    use = use[:: -(-len(use) // CHOOSING) or 1]
    choices = list(product(STRENGTHS, WEIGHTS if NONE in labels else WEIGHTS[:1]))

    def served(choice: tuple[float, str | None]) -> float:
        said = _fitted(choice, vectors[use], labels[use]).predict(vectors[aside])
        return float(_f1(judged(labels[aside], said).sum(1)))

    best = max(choices, key=served) if len(np.unique(labels[use])) > 1 else choices[0]
    return _fitted(best, vectors, labels)


def _fitted(choice: tuple[float, str | None], vectors: Reals, labels: Labels) -> Pipeline:
    strength, weight = choice
    regression = LogisticRegression(C=strength, class_weight=weight, max_iter=ITERATIONS, tol=1e-3)
    pipeline = make_pipeline(StandardScaler(), regression)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return pipeline.fit(vectors, labels)


def score(true: Labels, said: Labels, documents: Integers) -> Figure:
    """F1 over everything but "O", 2·tp / (2·tp + fp + fn); where nothing is "O" that is the accuracy.

    The interval is from 1,000 samples of as many documents, drawn with replacement.
    """
    _, clusters = np.unique(documents, return_inverse=True)
    counts = np.stack([np.bincount(clusters, weights=each) for each in judged(true, said)], axis=1)  # D 3
    drawn = np.random.default_rng(0).integers(len(counts), size=(RESAMPLES, len(counts)))
    low, high = np.quantile(_f1(counts[drawn].sum(1)), (0.025, 0.975))
    return Figure(float(_f1(counts.sum(0))), float(low), float(high))


def judged(true: Labels, said: Labels) -> Flags:
    """3 N: right, mistaken for a tag, and missed."""
    same = true == said
    return np.stack([same & (true != NONE), ~same & (said != NONE), ~same & (true != NONE)])


def _f1(counts: Reals) -> Reals:
    right, wrong = counts[..., 0], counts[..., 1] + counts[..., 2]
    share: Reals = 2 * right / np.maximum(1, 2 * right + wrong)
    return share
