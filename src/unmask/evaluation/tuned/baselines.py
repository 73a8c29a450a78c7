"""What simpler ways come to on labelled texts, so that a tuned model's figure can be believed to be worth its price.

In: labelled texts to learn from, some to choose settings on, and some to label. Out: N C decisions of each baseline:

    majority           always the most frequent label
    TF-IDF             words and pairs of neighbours, weighted by rarity, and a logistic regression
    frozen vectors     the mean of the last layer of the model before tuning, and a logistic regression

Strengths are chosen on the same held-out texts that the tuned model's best moment is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from unmask.evaluation.features import text_vectors
from unmask.inference.vectors import load_encoder
from unmask.progress import task
from unmask.records import Flags, Integers, Reals
from unmask.tasks.classify.calibration import choose_thresholds, decide, macro_f1
from unmask.tasks.classify.labelled import LabelledExamples

MOST = 20_000  # examples that a baseline learns from, an even sample
STRENGTHS = {"TF-IDF": (1.0, 10.0, 100.0), "frozen vectors": (1e-3, 1e-2, 1e-1)}  # of the data against small weights
ITERATIONS = 300


@dataclass(frozen=True)
class LabelledArrays:
    """Examples and their labels, N C."""

    examples: LabelledExamples
    targets: Reals

    def sample(self, most: int) -> LabelledArrays:
        """At most so many, evenly."""
        every = -(-len(self.targets) // most) or 1
        examples = replace(self.examples, examples=self.examples.examples[::every])
        return LabelledArrays(examples, self.targets[::every])


def baseline_decisions(
    start: Path, train: LabelledArrays, dev: LabelledArrays, test: LabelledArrays, *, several: bool
) -> dict[str, Flags]:
    """N C by baseline: which labels it says of the test texts."""
    said = {"majority": np.tile(majority(train.targets, several=several), (len(test.targets), 1))}
    train = train.sample(MOST)
    for name, featurize in (("TF-IDF", tfidf_features), ("frozen vectors", frozen_vectors(start))):
        with task(f"Baseline {name}"):
            features = featurize(*(part.examples for part in (train, dev, test)))
            said[name] = _best_regression(STRENGTHS[name], features, train.targets, dev.targets, several=several)
    return said


def majority(targets: Reals, *, several: bool) -> Flags:
    """C: the most frequent label; of several, those that more than half of the texts have."""
    counts = targets.sum(0)
    flags: Flags = counts > len(targets) / 2 if several else np.arange(len(counts)) == counts.argmax()
    return flags


def tfidf_features(*parts: LabelledExamples) -> list[Any]:
    """Sparse vectors of each part, by words, or by characters where texts are written without spaces."""
    texts = [[_joined(example.text, example.pair) for example in part.examples] for part in parts]
    spaced = np.mean([" " in text.strip() for text in texts[0]]) > 0.5
    pattern: dict[str, Any] = {"analyzer": "word", "token_pattern": r"\S+"} if spaced else {"analyzer": "char"}
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **pattern)
    return [vectorizer.fit_transform(texts[0]), *(vectorizer.transform(each) for each in texts[1:])]


def frozen_vectors(start: Path) -> Callable[..., list[Any]]:
    """Vectors by a model that is not tuned: of a pair both, and how they differ."""

    def featurize(*parts: LabelledExamples) -> list[Any]:
        encoder = load_encoder(start)

        def vectors(part: LabelledExamples) -> Reals:
            first = text_vectors(encoder, [example.text for example in part.examples])
            if part.fields.pair is None:
                return first
            second = text_vectors(encoder, [example.pair or "" for example in part.examples])
            return np.concatenate((first, second, np.abs(first - second), first * second), axis=1)

        every = [vectors(part) for part in parts]
        scaler = StandardScaler().fit(every[0])
        return [scaler.transform(each) for each in every]

    return featurize


def _joined(text: str, pair: str | None) -> str:
    return text if pair is None else f"{text}\n{pair}"


def _best_regression(
    strengths: Sequence[float], features: Sequence[Any], train: Reals, dev: Reals, *, several: bool
) -> Flags:
    """What the regression says of the last features that labels the second best, of those that learnt the first."""
    best, best_score = np.zeros((0, 0), dtype=np.bool_), -1.0
    for strength in strengths:
        probabilities = _regression(strength, features, train, several=several)
        thresholds = choose_thresholds(probabilities[0], dev) if several else None
        said = [decide(each, thresholds) for each in probabilities]
        score = macro_f1(said[0], dev > 0)
        if score > best_score:
            best, best_score = said[1], score
    return best


def _regression(strength: float, features: Sequence[Any], train: Reals, *, several: bool) -> list[Reals]:
    """N C each: probabilities of the second and the third features."""
    classifier: Any = LogisticRegression(C=strength, max_iter=ITERATIONS, tol=1e-3)
    labels: Integers | Reals = train.argmax(1)
    if several:
        classifier, labels = OneVsRestClassifier(classifier), train
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not settled after so many rounds, or a label that all have: taken as it is
        classifier.fit(features[0], labels)
        answers = [classifier.predict_proba(each) for each in features[1:]]
    columns = np.arange(train.shape[1]) if several else classifier.classes_
    probabilities = []
    for answer in answers:
        full = np.zeros((answer.shape[0], train.shape[1]))
        full[:, columns] = answer
        probabilities.append(full)
    return probabilities
