"""How well a classifier labels test texts, beside what simpler ways come to, with intervals.

In: a tuning that is finished, and test texts. Out: `Judged`: figures, a table of labels, the confusions and the surest
errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.evaluation.tuned.answers import write_answers
from unmask.evaluation.tuned.baselines import LabelledArrays, baseline_decisions
from unmask.evaluation.tuned.leaks import Leaks, leaks_of_folds, some_are_clean
from unmask.evaluation.tuned.slicing import slice_columns
from unmask.intervals import resampled_figure, share_figure
from unmask.progress import task
from unmask.records import Flags, Integers, Reals
from unmask.results import Confusion, Figure, Judged, JudgedBaseline, JudgedLabel, SureError
from unmask.tasks.classify.calibration import calibration_error, label_sets, macro_f1, mean_f1
from unmask.tasks.classify.classifier import Classifier, ClassifyCard
from unmask.tasks.classify.labelled import LabelledExamples, LabelledText
from unmask.tasks.classify.learning import Classifying
from unmask.tasks.tune import TunedRun

ERRORS = 20  # the surest of them
DOUBTED = 0.1  # the most probability that a label may have which is doubted
CHUNK = 512  # texts that are asked about together
LEAST = 1e-12  # of a probability, for its logarithm


@dataclass(frozen=True)
class LabelAnswers:
    """What a classifier and the baselines say of test texts."""

    examples: tuple[LabelledText, ...]
    true: Flags  # N C
    probabilities: Reals  # N C
    said: Flags  # N C
    others: dict[str, Flags]  # N C by baseline
    leaked: Flags  # N: texts that were learnt from

    @classmethod
    def joined(cls, parts: Sequence[LabelAnswers]) -> LabelAnswers:
        """Those of several models, each about texts of its own."""
        return cls(
            examples=tuple(example for part in parts for example in part.examples),
            true=np.concatenate([part.true for part in parts]),
            probabilities=np.concatenate([part.probabilities for part in parts]),
            said=np.concatenate([part.said for part in parts]),
            others={name: np.concatenate([part.others[name] for part in parts]) for name in parts[0].others},
            leaked=np.concatenate([part.leaked for part in parts]),
        )


def judge_classifier(tuned: TunedRun, classifier: Classifier, leaks: Leaks) -> Judged:
    """Figures on the test texts of a tuning, those of the baselines on the same, and what leaked."""
    answers = ask_test(tuned, classifier, leaks)
    right = (answers.said == answers.true).all(1)
    write_answers(
        tuned.run.path,
        {
            "line": [example.line for example in answers.examples],
            "true": [list(example.labels) for example in answers.examples],
            "said": [_names(classifier.card.labels, flags) for flags in answers.said],
            "probability": answers.probabilities.max(1).tolist(),
            "score": right.astype(float).tolist(),
            "leaked": answers.leaked.tolist(),
            **_slice_columns(classifier, tuned.test),
        },
    )
    return judged_answers(classifier.card, tuned.test.path, tuned.test.empty, answers)


def _slice_columns(classifier: Classifier, test: LabelledExamples) -> dict[str, list[Any]]:
    """What slices are made of: words, windows, and fields of the file."""
    texts = [example.text for example in test.examples]
    pairs = None if test.fields.pair is None else [example.pair or "" for example in test.examples]
    both = texts if pairs is None else [" ".join(pair) for pair in zip(texts, pairs, strict=True)]
    lines = [example.line for example in test.examples]
    columns = slice_columns(test.path, lines, both, used=test.fields)
    return columns | {"windows": classifier.read(texts, pairs).windows.tolist()}


def judge_folds(folds: Sequence[TunedRun]) -> Judged:
    """Figures on all examples, each judged by a model that has not seen it."""
    parts = []
    for tuned, leaks in zip(folds, leaks_of_folds(folds), strict=True):
        classifier = Classifier(tuned.run.path)
        parts.append(ask_test(tuned, classifier, leaks))
    return judged_answers(classifier.card, folds[0].test.path, folds[0].test.empty, LabelAnswers.joined(parts))


def headline_of(tuned: TunedRun, classifier: Classifier) -> float:
    """The figure that chooses, on test texts."""
    true = tuned.learnt.targets_of(tuned.test) > 0
    said = classifier.decisions(ask_examples(classifier, tuned.test))
    return macro_f1(said, true) if classifier.card.several else float((said == true).all(1).mean())


def ask_test(tuned: TunedRun, classifier: Classifier, leaks: Leaks) -> LabelAnswers:
    """Ask a classifier and the baselines about its test texts."""
    learnt: Classifying = tuned.learnt
    train, dev, test = (
        LabelledArrays(each, learnt.targets_of(each)) for each in (learnt.train, learnt.dev, tuned.test)
    )
    probabilities = ask_examples(classifier, tuned.test)
    others = baseline_decisions(learnt.start, train, dev, test, several=learnt.several)
    said = classifier.decisions(probabilities)
    return LabelAnswers(tuned.test.examples, test.targets > 0, probabilities, said, others, leaks.leaked)


def judged_answers(card: ClassifyCard, data: Path, empty: int, answers: LabelAnswers) -> Judged:
    """All figures of what was said."""
    several, labels, said, true = card.several, card.labels, answers.said, answers.true
    probabilities, clusters, clean = answers.probabilities, clusters_of(answers.examples), ~answers.leaked
    accuracy, macro = label_figures(said, true, clusters)
    without: tuple[Figure | None, Figure | None] = (None, None)
    if some_are_clean(answers.leaked):
        without = label_figures(said[clean], true[clean], clusters[clean])
    return Judged(
        data=data,
        examples=len(said),
        empty=empty,
        accuracy=accuracy,
        macro_f1=macro,
        chosen_by="macro_f1" if several else "accuracy",
        leaked=int(answers.leaked.sum()),
        clean_accuracy=without[0],
        clean_macro_f1=without[1],
        loss=_label_loss(probabilities, true, several=several),
        calibration_error=None if several else calibration_error(probabilities, true),
        baselines=tuple(
            JudgedBaseline(
                name=name, **dict(zip(("accuracy", "macro_f1"), label_figures(each, true, clusters), strict=True))
            )
            for name, each in answers.others.items()
        ),
        labels=tuple(judge_labels(labels, said, true)),
        confusions=() if several else tuple(confusions_of(labels, said, true)),
        errors=tuple(surest_errors(labels, answers.examples, probabilities, said, true, several=several)),
        doubtful=() if several else tuple(doubtful_labels(labels, answers.examples, probabilities, true)),
        **set_figures(card, probabilities, true, clusters),
    )


def set_figures(card: ClassifyCard, probabilities: Reals, true: Flags, clusters: Integers) -> dict[str, Any]:
    """How many texts have their label in their set, and how large sets are."""
    if card.least is None:
        return {}
    sets = label_sets(probabilities, card.least)
    covered: Flags = np.logical_or.reduce(sets & true, axis=1)
    return {"set_coverage": share_figure(covered, clusters), "set_size": float(sets.sum(1).mean())}


def doubtful_labels(
    labels: Sequence[str], examples: Sequence[LabelledText], probabilities: Reals, true: Flags
) -> list[SureError]:
    """Examples that look like another label as surely as those of that label do, and hardly like their own.

    Confident learning (Northcutt et al. 2021): a label is believed where its probability is at least the mean
    probability of that label over the examples that have it. That is little where the model knows little, and its own
    errors are most of what it would find; so a label is doubted only where it has at most a tenth of the probability.
    """
    own = true.argmax(1)
    usual = (probabilities * true).sum(0) / np.maximum(true.sum(0), 1)
    usual[true.sum(0) == 0] = np.inf
    believed = np.where(probabilities >= usual, probabilities, -1.0)
    likeliest = believed.argmax(1)
    of_own = probabilities[np.arange(len(own)), own]
    doubtful = (believed.max(1) > 0) & (likeliest != own) & (of_own <= DOUBTED)
    gaps = probabilities.max(1) - of_own
    found = np.flatnonzero(doubtful)
    return [
        SureError(
            line=examples[n].line,
            text=examples[n].text,
            pair=examples[n].pair,
            true=examples[n].labels,
            said=(labels[likeliest[n]],),
            probability=float(probabilities[n, likeliest[n]]),
        )
        for n in found[np.argsort(-gaps[found], kind="stable")][:ERRORS].tolist()
    ]


def ask_examples(classifier: Classifier, examples: LabelledExamples) -> Reals:
    """N C: the probabilities of labelled texts, as `predict` gives them."""
    answers: list[Reals] = []
    with task("Judging on the test texts", total=len(examples)) as step:
        for begin in range(0, len(examples), CHUNK):
            chunk = examples.examples[begin : begin + CHUNK]
            pairs = None if examples.fields.pair is None else [example.pair or "" for example in chunk]
            answers.append(classifier.probabilities(classifier.read([example.text for example in chunk], pairs)))
            step(len(chunk))
    return np.concatenate(answers)


def clusters_of(examples: Sequence[LabelledText]) -> Integers:
    """N: what was sampled as one: each text for itself, or all of a group."""
    names = [f"{example.line}" if example.group is None else f"group {example.group}" for example in examples]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def label_figures(said: Flags, true: Flags, clusters: Integers) -> tuple[Figure, Figure]:
    """The accuracy and the macro F1, with intervals from samples of the texts, or of their groups."""
    right = (said == true).all(1)
    counts = np.concatenate([np.ones((len(said), 1)), right[:, None], said & true, said & ~true, ~said & true], axis=1)

    def accuracy(sums: Reals) -> Reals:
        shares: Reals = sums[..., 1] / np.maximum(sums[..., 0], 1)
        return shares

    def by_label(sums: Reals) -> Reals:
        return sums[..., 2:].reshape(*sums.shape[:-1], 3, said.shape[1])

    whole = by_label(counts.sum(0))

    def macro(sums: Reals) -> Reals:
        return mean_f1(by_label(sums), whole)

    return resampled_figure(counts, clusters, accuracy), resampled_figure(counts, clusters, macro)


def judge_labels(labels: Sequence[str], said: Flags, true: Flags) -> list[JudgedLabel]:
    """Precision, recall and F1 of each label."""
    right, wrong, missed = (flags.sum(0) for flags in (said & true, said & ~true, ~said & true))
    return [
        JudgedLabel(
            label=label,
            examples=int(right[n] + missed[n]),
            precision=float(right[n] / max(1, right[n] + wrong[n])),
            recall=float(right[n] / max(1, right[n] + missed[n])),
            f1=float(2 * right[n] / max(1, 2 * right[n] + wrong[n] + missed[n])),
        )
        for n, label in enumerate(labels)
    ]


def confusions_of(labels: Sequence[str], said: Flags, true: Flags) -> list[Confusion]:
    """Every pair of a label and what was said instead of it, the most frequent first; what is right too."""
    counts = true.T.astype(np.int64) @ said.astype(np.int64)
    places = np.argwhere(counts)
    ranked = sorted(places.tolist(), key=lambda place: (-int(counts[place[0], place[1]]), place))
    return [Confusion(true=labels[one], said=labels[other], count=int(counts[one, other])) for one, other in ranked]


def surest_errors(
    labels: Sequence[str],
    examples: Sequence[LabelledText],
    probabilities: Reals,
    said: Flags,
    true: Flags,
    *,
    several: bool,
) -> list[SureError]:
    """The twenty texts that it was surest of and wrong about, to be read: some will be errors of the labels."""
    doubt = np.where(true, 1 - probabilities, probabilities)
    sureness = np.where(said != true, doubt, 0.0).max(1) if several else probabilities.max(1)
    wrong = np.flatnonzero((said != true).any(1))
    surest = wrong[np.argsort(-sureness[wrong], kind="stable")][:ERRORS]
    return [
        SureError(
            line=examples[n].line,
            text=examples[n].text,
            pair=examples[n].pair,
            true=examples[n].labels,
            said=tuple(_names(labels, said[n])),
            probability=float(sureness[n]),
        )
        for n in surest.tolist()
    ]


def _names(labels: Sequence[str], flags: Flags) -> list[str]:
    return [labels[place] for place in np.flatnonzero(flags).tolist()]


def _label_loss(probabilities: Reals, true: Flags, *, several: bool) -> float:
    """Cross-entropy, nats a text or a decision."""
    logs = np.log(np.maximum(np.where(true, probabilities, 1 - probabilities), LEAST))
    return float(-logs.mean()) if several else float(-logs[true].sum() / len(true))
