"""Tuned runs compared on the same test examples, one by one.

In: runs that were judged on the same test set. Out: their figures, and the difference of each to the first:

    difference    mean of the scores' differences, with the interval of a paired t; what makes an example hard for
                  both cancels, so it is narrower than the difference of two intervals would tell
    p             where scores are right or wrong, McNemar's exact test on the examples that only one has right; else
                  a permutation test that swaps the two answers of each example at random
    over seeds    where both were tuned with --seeds: the difference seed by seed. Order, dropout and the drawn head
                  are functions of the seed, so two ways that share it differ by less than two runs at random
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, t

from unmask.errors import BadInput
from unmask.evaluation.tuned.answers import read_answers
from unmask.intervals import mean_figure
from unmask.records import Integers, Reals
from unmask.results import Figure, SeedDifference, TunedComparison, TunedContender, TunedDifference
from unmask.runs.tuned_report import RESULT

SWAPS = 10_000  # of the permutation test
MEASURES = {  # what the score of an example is, in each task
    **dict.fromkeys(("classify", "patterns", "pairs"), "accuracy"),
    "tag": "F1 of a text",
    "answer": "F1",
    "similarity": "Spearman",
    "retrieve": "nDCG@10",
}


HEADLINES = {"classify": "accuracy", "answer": "f1", "similarity": "spearman", "retrieve": "ndcg_10"}  # of that measure


def is_judged(run: Path) -> bool:
    """Whether a run was tuned, and judged on test examples."""
    return (run / RESULT).is_file()


def compare_tuned(runs: Sequence[Path], *, by_seed: bool = False) -> TunedComparison:
    """Compare runs on the test examples that all of them were judged on; `by_seed` refuses what cannot be paired so."""
    if len(runs) < 2:
        raise BadInput(f"{runs[0]}: compare it with what? name two tuned runs or more")
    results = [json.loads((run / RESULT).read_text(encoding="utf-8")) for run in runs]
    _check_alike(runs, results)
    over_seeds = [seed_difference(result, results[0]) for result in results[1:]]
    if by_seed and None in over_seeds:
        raise BadInput(
            f"--paired: {runs[over_seeds.index(None) + 1]} and {runs[0]} share fewer than two seeds that were judged "
            "on test; tune both with --seeds 3"
        )
    scores = _scores_of(runs)
    examples = np.arange(scores.shape[1])
    return TunedComparison(
        task=results[0]["task"],
        measure=MEASURES[results[0]["task"]],
        data=Path(results[0]["test"]["data"]),
        examples=len(examples),
        contenders=tuple(
            TunedContender(
                path=run,
                model=Path(result["start"]),
                score=_headline(result) or mean_figure(own, examples),
                parameters=result["parameters"],
            )
            for run, result, own in zip(runs, results, scores, strict=True)
        ),
        differences=tuple(
            replace(_difference(run, own, runs[0], scores[0]), over_seeds=by_seeds)
            for run, own, by_seeds in zip(runs[1:], scores[1:], over_seeds, strict=True)
        ),
    )


def _headline(result: dict[str, Any]) -> Figure | None:
    """The figure of a run as its own page has it, where that is of the measure that is compared by."""
    name = HEADLINES.get(result["task"])
    figure = None if name is None else result["test"].get(name)
    return Figure(**figure) if figure is not None and None not in figure.values() else None


def _check_alike(runs: Sequence[Path], results: Sequence[dict[str, Any]]) -> None:
    """Refuse runs of different tasks, and of different test sets."""
    for run, result in zip(runs, results, strict=True):
        if result["test"] is None:
            again = f"unmask tune {result['task']} --resume {run} --test TEST"
            raise BadInput(f"{run}: was not judged on test examples; {again} judges it")
        if result["task"] != results[0]["task"]:
            raise BadInput(f"{run}: is tuned to {result['task']}, {runs[0]} to {results[0]['task']}")
        if result["test_sha256"] != results[0]["test_sha256"]:
            raise BadInput(
                f"{run}: was judged on {result['test']['data']}, {runs[0]} on {results[0]['test']['data']}, which is "
                "another file; judge both on one by --resume RUN --test TEST"
            )


def _scores_of(runs: Sequence[Path]) -> Reals:
    """R N: the score of each example under each run."""
    tables = [{answer["line"]: float(answer["score"]) for answer in read_answers(run)} for run in runs]
    for run, table in zip(runs, tables, strict=True):
        if table.keys() != tables[0].keys():
            raise BadInput(f"{run}: its answers are not of the same examples as those of {runs[0]}; judge it again")
    return np.array([[table[line] for line in sorted(tables[0])] for table in tables])


def seed_difference(result: dict[str, Any], other: dict[str, Any]) -> SeedDifference | None:
    """The difference of two ways over the seeds that both were tuned with; none of fewer than two."""
    tests = [
        {trial["seed"]: trial["test"] for trial in each.get("trials", ()) if trial["test"] is not None}
        for each in (result, other)
    ]
    if len(seeds := sorted(tests[0].keys() & tests[1].keys())) < 2:
        return None
    own, others = (np.array([table[seed] for seed in seeds]) for table in tests)
    figure = paired_figure(own - others)
    return SeedDifference(seeds=tuple(seeds), difference=figure, narrower=times_narrower(figure, own, others))


def times_narrower(figure: Figure, own: Reals, other: Reals) -> float | None:
    """How many times as wide the interval of a mean difference were, were the two not paired."""
    width = figure.high - figure.low
    if len(own) < 2 or not width > 0:
        return None
    apart = sqrt(float(own.var(ddof=1) + other.var(ddof=1)) / len(own))
    return 2 * float(t.ppf(0.975, len(own) - 1)) * apart / width


def _difference(run: Path, own: Reals, other_run: Path, other: Reals) -> TunedDifference:
    gaps = own - other
    figure = paired_figure(gaps)
    return TunedDifference(
        run=run,
        than=other_run,
        difference=figure,
        only_this=int((gaps > 0).sum()),
        only_other=int((gaps < 0).sum()),
        p=p_value(gaps),
        narrower=times_narrower(figure, own, other),
    )


def paired_figure(gaps: Reals) -> Figure:
    """The mean of differences with its interval."""
    examples: Integers = np.arange(len(gaps))
    return mean_figure(gaps, examples)


def p_value(gaps: Reals) -> float:
    """How likely a difference as large as this is where neither is better.

    >>> p_value(np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 0.0])), p_value(np.zeros(4))
    (0.21875, 1.0)
    """
    if not gaps.any():
        return 1.0
    if set(np.unique(gaps)) <= {-1.0, 0.0, 1.0}:
        wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
        return float(binomtest(wins, wins + losses).pvalue)
    signs = np.random.default_rng(0).integers(0, 2, size=(SWAPS, len(gaps)), dtype=np.int8) * 2 - 1
    extreme = np.abs(signs @ gaps) >= abs(gaps.sum()) - 1e-12
    return float((extreme.sum() + 1) / (SWAPS + 1))
