"""How well cosines follow the scores of test pairs, beside what simpler ways come to, with intervals.

In: a tuning that is finished, and test pairs. Out: `JudgedSimilarity`. The baselines:

    word overlap               shared words over all words of both texts (Jaccard)
    TF-IDF                     the cosine of words weighted by their rarity among the texts learnt from
    frozen vectors             the cosine of the mean of the last layer, before tuning
    frozen vectors, whitened   the same without the mean and the strongest directions of the texts learnt from
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.feature_extraction.text import TfidfVectorizer

from unmask.errors import BadInput
from unmask.evaluation.tuned.answers import write_answers
from unmask.evaluation.tuned.leaks import Leaks, leaks_of_folds, some_are_clean
from unmask.inference.embed import embed_texts
from unmask.inference.vectors import Encoder, load_encoder
from unmask.inference.whitening import Whitening
from unmask.intervals import bootstrap_figure
from unmask.progress import task
from unmask.records import Flags, Integers, Reals
from unmask.results import Figure, JudgedSimilarity, PairError, SimilarityBaseline
from unmask.tasks.sentence_vectors import cosines_of
from unmask.tasks.similarity.learning import Comparing
from unmask.tasks.similarity.pair_scorer import PairScorer
from unmask.tasks.similarity.scored import ScoredPairs
from unmask.tasks.similarity.validation import correlation, rank_correlation
from unmask.tasks.tune import TunedRun
from unmask.words import words_of

ERRORS = 20  # pairs that are farthest off
WHITENED = 2_000  # texts that are whitened on, an even sample
ORDERED = 3  # pairs at the least whose order says anything
CHUNK = 512  # pairs that are asked about together


def judge_pair_scorer(tuned: TunedRun, scorer: PairScorer, leaks: Leaks) -> JudgedSimilarity:
    """Figures on the test pairs of a tuning, those of the baselines on the same, and what leaked."""
    learnt: Comparing = tuned.learnt
    test: ScoredPairs = tuned.test
    cosines = ask_pairs(scorer, test)
    columns = {
        "line": [each.line for each in test.examples],
        "score": rank_products(cosines, test.scores).tolist(),
        "cosine": cosines.tolist(),
        "true": test.scores.tolist(),
    }
    write_answers(tuned.run.path, columns)
    others = baseline_cosines(learnt.start, learnt.train, test)
    return judged_pairs(test, cosines, scorer.scores(cosines), others, leaks.leaked)


def judge_pair_folds(folds: Sequence[TunedRun]) -> JudgedSimilarity:
    """Figures on all pairs, each judged by a model that has not seen it.

    What one model's cosines mean another's do not: they are compared as the scores that each takes them to stand for.
    """
    said: list[Reals] = []
    others: list[dict[str, Reals]] = []
    for tuned in folds:
        scorer = PairScorer(tuned.run.path)
        said.append(scorer.scores(ask_pairs(scorer, tuned.test)))
        others.append(baseline_cosines(tuned.learnt.start, tuned.learnt.train, tuned.test))
    everyone = replace(folds[0].test, examples=tuple(each for tuned in folds for each in tuned.test.examples))
    scores = np.concatenate(said)
    baselines = {name: np.concatenate([each[name] for each in others]) for name in others[0]}
    leaked = np.concatenate([leaks.leaked for leaks in leaks_of_folds(folds)])
    return judged_pairs(everyone, scores, scores, baselines, leaked)


def judged_pairs(
    test: ScoredPairs, cosines: Reals, said: Reals, others: Mapping[str, Reals], leaked: Flags
) -> JudgedSimilarity:
    """All figures of what was said: cosines, and the scores that they stand for."""
    clusters, clean = _clusters_of(test), np.flatnonzero(~leaked)
    spearman, pearson = _correlations(cosines, test.scores, clusters)
    clean_figures: tuple[Figure | None, Figure | None] = (None, None)
    if some_are_clean(leaked, least=ORDERED):
        clean_figures = _correlations(cosines[clean], test.scores[clean], clusters[clean])
    return JudgedSimilarity(
        data=test.path,
        examples=len(test),
        empty=test.empty,
        spearman=spearman,
        pearson=pearson,
        leaked=int(leaked.sum()),
        clean_spearman=clean_figures[0],
        clean_pearson=clean_figures[1],
        baselines=tuple(
            SimilarityBaseline(name=name, **dict(zip(("spearman", "pearson"), figures, strict=True)))
            for name, figures in ((name, _correlations(each, test.scores, clusters)) for name, each in others.items())
        ),
        errors=tuple(farthest_off(test, cosines, said)),
    )


def pair_headline(tuned: TunedRun, scorer: PairScorer) -> float:
    """The figure that chooses, on test pairs."""
    return rank_correlation(ask_pairs(scorer, tuned.test), tuned.test.scores)


def rank_products(said: Reals, true: Reals) -> Reals:
    """N: what each pair adds to Spearman's correlation, which is their mean: the product of its standardised ranks.

    >>> float(rank_products(np.array([0.1, 0.5, 0.4]), np.array([1.0, 3.0, 2.0])).mean().round(9))
    1.0
    """
    ranks = [rankdata(each) for each in (said, true)]
    spreads = [each.std() or 1.0 for each in ranks]
    products: Reals = (ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean()) / (spreads[0] * spreads[1])
    return products


def ask_pairs(scorer: PairScorer, pairs: ScoredPairs) -> Reals:
    """N: the cosines of pairs, as `predict` gives them."""
    answers: list[Reals] = []
    with task("Judging on the test pairs", total=len(pairs)) as step:
        for begin in range(0, len(pairs), CHUNK):
            chunk = pairs.examples[begin : begin + CHUNK]
            texts = [each.text for each in chunk] + [each.pair for each in chunk]
            answers.append(scorer.cosines(scorer.reader.read_sentences(texts)))
            step(len(chunk))
    return np.concatenate(answers)


def baseline_cosines(start: Path, train: ScoredPairs, test: ScoredPairs) -> dict[str, Reals]:
    """N by baseline: how alike it takes the texts of each test pair to be."""
    firsts, seconds = (test.texts[: len(test)], test.texts[len(test) :])
    said = {"word overlap": np.array([word_overlap(*pair) for pair in zip(firsts, seconds, strict=True)])}
    with task("Baseline TF-IDF"):
        said["TF-IDF"] = _tfidf_cosines(train.texts, firsts, seconds)
    with task("Baseline frozen vectors"):
        encoder = load_encoder(start)
        vectors = _frozen(encoder, test.texts)
        said["frozen vectors"] = cosines_of(*np.split(vectors, 2))
        sample = train.texts[:: -(-len(train.texts) // WHITENED)]
        whitening = Whitening.fitted([_frozen(encoder, sample)])
        said["frozen vectors, whitened"] = cosines_of(*np.split(whitening(vectors), 2))
    return said


def word_overlap(first: str, second: str) -> float:
    """The share of the words of both texts that both have.

    >>> word_overlap("A man sleeps.", "a man is asleep")
    0.4
    """
    one, other = ({word.spelt for word in words_of(text)} for text in (first, second))
    return len(one & other) / max(1, len(one | other))


def farthest_off(pairs: ScoredPairs, cosines: Reals, said: Reals) -> list[PairError]:
    """The pairs whose rank by the model is farthest from that of their scores, to be read."""
    places = [rankdata(each) / len(pairs) for each in (cosines, pairs.scores)]
    gaps = np.abs(places[0] - places[1])
    worst = np.argsort(-gaps, kind="stable")[:ERRORS].tolist()
    return [
        PairError(
            line=pairs.examples[n].line,
            text=pairs.examples[n].text,
            pair=pairs.examples[n].pair,
            true=pairs.examples[n].score,
            said=float(said[n]),
            off=float(gaps[n]),
        )
        for n in worst
    ]


def _correlations(said: Reals, true: Reals, clusters: Integers) -> tuple[Figure, Figure]:
    """Spearman's and Pearson's, with intervals from samples of the pairs, or of their groups."""
    return (
        bootstrap_figure(clusters, lambda numbers: rank_correlation(said[numbers], true[numbers])),
        bootstrap_figure(clusters, lambda numbers: correlation(said[numbers], true[numbers])),
    )


def _clusters_of(pairs: ScoredPairs) -> Integers:
    """N: what was sampled as one: each pair for itself, or all of a group."""
    names = [f"{each.line}" if each.group is None else f"group {each.group}" for each in pairs.examples]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _tfidf_cosines(train: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]) -> Reals:
    vectorizer = TfidfVectorizer(analyzer=lambda text: [word.spelt for word in words_of(text)])
    vectorizer.fit(train)
    products = vectorizer.transform(firsts).multiply(vectorizer.transform(seconds))
    cosines: Reals = np.asarray(products.sum(1)).ravel()
    return cosines


def _frozen(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    made = embed_texts(encoder, texts)
    width = encoder.width
    return np.stack([np.zeros(width, np.float32) if isinstance(each, BadInput) else each.vector for each in made])
