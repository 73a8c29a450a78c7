"""Lists of candidates, put in a new order with the help of a model: n-best rescoring.

    {"candidates": [{"text": "wreck a nice beach", "score": -3.1}, …], "reference": "recognise speech"}
    {"candidates": [{"text": "recognise speech", "score": -3.4}, …], "best": 1}

In: a file of such lists, and a scorer. Out: `Rescored`. A candidate's own score and the model's, times a weight, are
added. The weight is chosen on every second list and judged on the others, so that the figures are of lists that nothing
was fitted to. Where every list has a `reference` they are word error rates, else accuracies by `best`, a place in the
list counted from 0 or the text of a candidate.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import BadInput, BadLines
from unmask.inference.score import Scorer, ScoreSettings
from unmask.intervals import ratio_figure, wilson_figure
from unmask.records import Integers, Reals
from unmask.results import Figure, Rescored

WEIGHTS = np.r_[0.0, 2.0 ** np.arange(-10, 6.01, 0.25)]  # of the model's score; a candidate's own counts once
LEAST = 4  # lists, so that each half has two


@dataclass(frozen=True)
class CandidateList:
    """The candidates of one list, and what they are judged by."""

    texts: tuple[str, ...]
    scores: Reals
    reference: str | None
    best: int | None


def rescore(scorer: Scorer, path: Path, settings: ScoreSettings) -> Rescored:
    """Score all candidates, choose the weight on half of the lists, and judge it on the others."""
    lists, measure = read_lists(path)
    texts = [text for each in lists for text in each.texts]
    scores = []
    for text, scored in zip(texts, scorer.score(texts, settings), strict=True):
        if isinstance(scored, BadInput):
            raise BadInput(f"{path}: the candidate {text[:40]!r} cannot be scored: {scored}")
        scores.append(scored.score)
    edges = np.cumsum([len(each.texts) for each in lists])[:-1]
    by_list = np.split(np.array(scores), edges)
    errors, sizes = _errors(lists, measure)
    tuned = np.arange(len(lists)) % 2 == 0
    totals = [errors_of(choose(lists, by_list, weight), errors)[tuned].sum() for weight in WEIGHTS]
    best = np.flatnonzero(np.array(totals) == min(totals))
    weight = float(WEIGHTS[best[len(best) // 2]])  # the middle of those that do as well
    judged = ~tuned
    choices = choose(lists, by_list, weight)
    before, after = errors_of(choose(lists, by_list, 0.0), errors), errors_of(choices, errors)
    alone = errors_of([int(each.argmax()) for each in by_list], errors)
    least = np.array([each.min() for each in errors])
    return Rescored(
        path=path,
        method=scorer.method,
        measure=measure,
        tuned_on=int(tuned.sum()),
        judged_on=int(judged.sum()),
        weight=weight,
        before=_figure(before[judged], sizes[judged], measure),
        after=_figure(after[judged], sizes[judged], measure),
        model_alone=_figure(alone[judged], sizes[judged], measure),
        oracle=_figure(least[judged], sizes[judged], measure).value,
        fewer_errors=ratio_figure((before - after)[judged], sizes[judged]),
        choices=tuple(choices),
    )


def choose(lists: Sequence[CandidateList], scores: Sequence[Reals], weight: float) -> list[int]:
    """The best candidate of each list; of equals the first."""
    return [int((each.scores + weight * given).argmax()) for each, given in zip(lists, scores, strict=True)]


def errors_of(choices: Sequence[int], errors: Sequence[Reals]) -> Reals:
    """The errors of what was chosen."""
    return np.array([each[choice] for choice, each in zip(choices, errors, strict=True)])


def _errors(lists: Sequence[CandidateList], measure: str) -> tuple[list[Reals], Reals]:
    """For each list the errors of its candidates, and how many there could be: words of the reference, or one."""
    if measure == "accuracy":
        errors = [(np.arange(len(each.texts)) != each.best).astype(np.float64) for each in lists]
        return errors, np.ones(len(lists))
    references = [(each.reference or "").split() for each in lists]
    errors = [
        np.array([word_errors(text.split(), reference) for text in each.texts], dtype=np.float64)
        for each, reference in zip(lists, references, strict=True)
    ]
    return errors, np.array([len(reference) for reference in references], dtype=np.float64)


def _figure(errors: Reals, sizes: Reals, measure: str) -> Figure:
    if measure == "accuracy":
        return wilson_figure(int((errors == 0).sum()), len(errors))
    return ratio_figure(errors, sizes)


def word_errors(words: Sequence[str], reference: Sequence[str]) -> int:
    """Words to put in, to leave out and to replace, at the least (Levenshtein).

    >>> word_errors("the cat sat".split(), "the cats sat down".split())
    2
    """
    row: Integers = np.arange(len(reference) + 1)
    for number, word in enumerate(words, start=1):
        replaced = row[:-1] + np.array([word != other for other in reference], dtype=np.int64)
        least = np.minimum(np.r_[number, replaced], np.r_[row + 1])
        row = np.minimum.accumulate(least - np.arange(len(least))) + np.arange(len(least))
    return int(row[-1])


def read_lists(path: Path) -> tuple[list[CandidateList], str]:
    """The lists of a file, and whether they are judged by word errors or by which candidate is best."""
    lists, wrong = [], []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                lists.append(_candidate_list(json.loads(line)))
            except (ValueError, BadInput) as error:
                reason = str(error) if isinstance(error, BadInput) else "not JSON"
                wrong.append(f"{path}:{number}: {reason}")
    if wrong:
        raise BadLines([*wrong[:20], f"{len(wrong):,} lines of {path} are no lists of candidates"])
    if len(lists) < LEAST:
        raise BadInput(f"{path}: {len(lists)} lists; to choose a weight and to judge it takes {LEAST} at the least")
    if all(each.reference is not None for each in lists):
        return lists, "word error rate"
    if all(each.best is not None for each in lists):
        return lists, "accuracy"
    raise BadInput(f"{path}: some lists have a 'reference' and some a 'best'; give all of them the same field")


def _candidate_list(record: Any) -> CandidateList:
    if not isinstance(record, dict) or not isinstance(record.get("candidates"), list) or not record["candidates"]:
        raise BadInput("no field 'candidates' with a list")
    texts, scores = [], []
    for candidate in record["candidates"]:
        given = candidate if isinstance(candidate, dict) else {}
        if not isinstance(text := given.get("text"), str) or not text.strip():
            raise BadInput("a candidate without a 'text'")
        if not isinstance(score := given.get("score"), int | float) or not np.isfinite(score):
            raise BadInput("a candidate without a finite 'score'")
        texts.append(text)
        scores.append(float(score))
    reference, best = record.get("reference"), record.get("best")
    if isinstance(best, str):
        if best not in texts:
            raise BadInput("'best' is the text of no candidate")
        best = texts.index(best)
    if isinstance(reference, str) and reference.strip():
        return CandidateList(tuple(texts), np.array(scores), reference, None)
    if not isinstance(best, int) or not 0 <= best < len(texts):
        raise BadInput("neither a 'reference', which is a text, nor a 'best', which is the place of a candidate")
    return CandidateList(tuple(texts), np.array(scores), None, best)
