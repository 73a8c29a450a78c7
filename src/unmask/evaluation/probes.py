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

from unmask.evaluation.features import text_vectors, word_vectors
from unmask.evaluation.questions import NONE, ProbeTask
from unmask.inference.vectors import Encoder
from unmask.progress import task
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
    is_test: Flags


def rows_of(question: ProbeTask) -> Rows:
    """The labels of a question, flat."""
    tags = [(labels,) if isinstance(labels, str) else labels for labels in question.labels]
    counts = [len(labels) for labels in tags]
    return Rows(
        np.array([tag for labels in tags for tag in labels]),
        np.repeat(question.documents, counts),
        np.repeat(question.is_test, counts),
    )


def vectors_of(encoder: Encoder, question: ProbeTask) -> Reals:
    """What the model knows of each row."""
    if question.kind == "classification":
        return text_vectors(encoder, question.items)  # type: ignore[arg-type]
    return np.concatenate(word_vectors(encoder, question.items))


def probe_score(encoder: Encoder, question: ProbeTask) -> Figure:
    """How well a linear probe on a model's vectors answers a question."""
    rows, vectors = rows_of(question), vectors_of(encoder, question)
    train, test = ~rows.is_test, rows.is_test
    classifier = fit_classifier(
        vectors[train], rows.labels[train], rows.documents[train], title=f"Probing {question.name}"
    )
    return f1_figure(rows.labels[test], classifier.predict(vectors[test]), rows.documents[test])


def majority_score(question: ProbeTask) -> float:
    """The score of always saying the most frequent label."""
    rows = rows_of(question)
    labels, counts = np.unique(rows.labels[~rows.is_test], return_counts=True)
    true = rows.labels[rows.is_test]
    return f1_figure(true, np.full(len(true), labels[counts.argmax()]), rows.documents[rows.is_test]).value


def fit_classifier(vectors: Reals, labels: Labels, documents: Integers, *, title: str = "Probing") -> Pipeline:
    """A logistic regression on standardised vectors, with the settings that serve a fifth of the documents best."""
    aside = np.isin(documents, np.unique(documents)[::5])
    use = np.flatnonzero(~aside)
    use = use[:: -(-len(use) // CHOOSING) or 1]
    choices = list(product(STRENGTHS, WEIGHTS if NONE in labels else WEIGHTS[:1]))

    def held_out_f1(choice: tuple[float, str | None]) -> float:
        predictions = _fit(choice, vectors[use], labels[use]).predict(vectors[aside])
        step(1)
        return float(_f1(confusions(labels[aside], predictions).sum(1)))

    with task(title, total=len(choices) + 1) as step:  # each takes seconds, and where words are tagged a minute
        step(note=f"{len(labels):,} labels, {len(choices)} trials and the last")
        best = max(choices, key=held_out_f1) if len(np.unique(labels[use])) > 1 else choices[0]
        classifier = _fit(best, vectors, labels)
        step(1, note=f"{len(labels):,} labels")
    return classifier


def _fit(choice: tuple[float, str | None], vectors: Reals, labels: Labels) -> Pipeline:
    strength, weight = choice
    regression = LogisticRegression(C=strength, class_weight=weight, max_iter=ITERATIONS, tol=1e-3)
    pipeline = make_pipeline(StandardScaler(), regression)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return pipeline.fit(vectors, labels)


def f1_figure(true: Labels, predictions: Labels, documents: Integers) -> Figure:
    """F1 over everything but "O", 2·tp / (2·tp + fp + fn); where nothing is "O" that is the accuracy.

    The interval is from 1,000 samples of as many documents, drawn with replacement.
    """
    _, clusters = np.unique(documents, return_inverse=True)
    counts = np.stack([np.bincount(clusters, weights=flags) for flags in confusions(true, predictions)], axis=1)  # D 3
    resamples = np.random.default_rng(0).integers(len(counts), size=(RESAMPLES, len(counts)))
    low, high = np.quantile(_f1(counts[resamples].sum(1)), (0.025, 0.975))
    return Figure(float(_f1(counts.sum(0))), float(low), float(high))


def confusions(true: Labels, predictions: Labels) -> Flags:
    """3 N: right, mistaken for a tag, and missed."""
    correct = true == predictions
    return np.stack([correct & (true != NONE), ~correct & (predictions != NONE), ~correct & (true != NONE)])


def _f1(counts: Reals) -> Reals:
    right, wrong = counts[..., 0], counts[..., 1] + counts[..., 2]
    share: Reals = 2 * right / np.maximum(1, 2 * right + wrong)
    return share
