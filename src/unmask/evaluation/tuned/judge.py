"""What came of a tuning, whatever the task; on test examples, where there are some.

In: a tuning that is finished. Out: `Tuned`, which the run keeps in `tuned.json`. The model is asked by the same
function as by `unmask predict`: what it says of a text there is what was measured here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from unmask.evaluation.tuned.answer import answer_headline, judge_answer_folds, judge_answerer
from unmask.evaluation.tuned.classify import headline_of, judge_classifier, judge_folds
from unmask.evaluation.tuned.leaks import Leaks, find_chosen_on, find_leaks_of
from unmask.evaluation.tuned.measured import note_measurements
from unmask.evaluation.tuned.retrieve import judge_retrieval_folds, judge_retriever, retrieval_headline
from unmask.evaluation.tuned.similarity import judge_pair_folds, judge_pair_scorer, pair_headline
from unmask.evaluation.tuned.tag import judge_tag_folds, judge_tagger, tag_headline
from unmask.files import sha256_of, write_json
from unmask.results import Overlap, SeedSpread, Tuned, TunedTrial, to_plain
from unmask.runs.commands import next_commands
from unmask.runs.report import write_report
from unmask.runs.tuned_report import RESULT
from unmask.tasks.trials import Tried
from unmask.tasks.tune import TunedRun, load_tuned
from unmask.training.machine.distributed import launched


@dataclass(frozen=True)
class Judge:
    """What measures a task."""

    test: Callable[[TunedRun, Any, Leaks], Any]  # everything, on the test examples
    headline: Callable[[TunedRun, Any], float]  # the figure that chooses alone, on the test examples
    folds: Callable[[Sequence[TunedRun]], Any]  # everything, on the parts of folds
    figure: str  # which one of everything the headline is


JUDGES = {
    "classify": Judge(judge_classifier, headline_of, judge_folds, "headline"),
    "tag": Judge(judge_tagger, tag_headline, judge_tag_folds, "f1"),
    "answer": Judge(judge_answerer, answer_headline, judge_answer_folds, "f1"),
    "similarity": Judge(judge_pair_scorer, pair_headline, judge_pair_folds, "spearman"),
    "retrieve": Judge(judge_retriever, retrieval_headline, judge_retrieval_folds, "ndcg_10"),
}


def judge_tuning(tuned: TunedRun, beside: Sequence[TunedRun] = ()) -> Tuned:
    """What came of a tuning. Of many processes the first judges and writes.

    Tunings `beside` it are measured on the same test examples, and are no others'.
    """
    run, learnt = tuned.run, tuned.learnt
    _, rank = launched()
    model = load_tuned(run.path)
    weights = weights_of(run.path)
    judged: Any = None
    overlaps: tuple[Overlap, ...] = ()
    before = 0
    if rank == 0:
        parts = {"dev": learnt.dev, **({} if tuned.test is None else {"test": tuned.test})}
        texts = {name: learnt.texts_of(part) for name, part in parts.items()}
        leaks = find_leaks_of(texts, learnt.texts_of(learnt.train), learnt.start)
        if tuned.test is not None:
            leaks["test"] = leaks["test"].with_those_of(find_chosen_on(texts["test"], texts["dev"]))
        overlaps = tuple(overlap for each in leaks.values() for overlap in each.overlaps)
        if tuned.test is not None:
            measured = {weights: run.path} | {weights_of(each.run.path): each.run.path for each in beside}
            before = note_measurements(tuned.test.digest, measured)
            judged = JUDGES[learnt.task].test(tuned, model, leaks["test"])
    result = Tuned(
        path=run.path,
        model=run.path / "model",
        task=learnt.task,
        start=learnt.start,
        labels=learnt.labels,
        several=learnt.several,
        fields=dict(learnt.recorded["fields"]),
        train=len(learnt.train),
        dev=len(learnt.dev),
        parameters=run.parameters,
        lr=learnt.lr,
        steps=run.steps,
        step=run.step,
        seconds=run.seconds,
        precision=run.description["computing"]["precision"],
        temperature=model.card.temperature,
        figures=dict(run.figures),
        overlaps=overlaps,
        measured_before=before,
        test=judged,
        test_sha256=None if tuned.test is None else tuned.test.digest,
        next=next_commands(run.path, run.description, "finished"),
        weights_sha256=weights,
    )
    if rank == 0:
        keep_result(result, learnt.facts)
    return result


def weights_of(run: Path) -> str:
    """The SHA-256 of a tuned model's weights."""
    return sha256_of(run / "model" / "model.safetensors")


def keep_result(result: Tuned, facts: Mapping[str, str]) -> None:
    """Write what came of it into the run, and its page anew with that."""
    write_json(result.path / RESULT, to_plain(asdict(result)))
    write_report(result.path, facts)


def judge_trials(tried: Tried) -> Tuned:
    """What came of several trials: the one that is kept, and beside it what the others came to."""
    result = judge_tuning(tried.kept, [trial.tuned for trial in tried.seeds])
    judge, rank = JUDGES[result.task], launched()[1]
    tests = {}
    if rank == 0 and tried.kept.test is not None:
        tests = {
            trial.name: getattr(result.test, judge.figure).value
            if trial.tuned.learnt is tried.kept.learnt  # which has just been asked
            else judge.headline(trial.tuned, load_tuned(trial.tuned.run.path))
            for trial in tried.seeds
        }
    trials = {trial.name: trial for trial in (*tried.rates, *tried.seeds, *tried.folds)}
    result = replace(
        result,
        trials=tuple(
            TunedTrial(
                name=name,
                path=trial.tuned.run.path,
                lr=trial.lr,
                seed=trial.seed,
                dev=trial.dev,
                test=tests.get(name),
            )
            for name, trial in trials.items()
        ),
        spread=spread_of(list(tests.values())) if len(tests) > 1 else None,
    )
    if rank == 0 and tried.folds:
        result = replace(result, folds=judge.folds([trial.tuned for trial in tried.folds]))
    if rank == 0:
        keep_result(result, tried.kept.learnt.facts)
    return result


def spread_of(values: Sequence[float]) -> SeedSpread:
    """The mean and the spread of a figure over seeds.

    >>> spread_of([0.5, 0.625, 0.75])
    SeedSpread(seeds=3, mean=0.625, deviation=0.125, least=0.5, most=0.75)
    """
    return SeedSpread(
        seeds=len(values), mean=fmean(values), deviation=stdev(values), least=min(values), most=max(values)
    )
