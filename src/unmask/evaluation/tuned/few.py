"""How well a few labels are learnt: every way on every draw, judged on the same test texts.

In: what is to be learnt. Out: `FewTuned`, which the directory keeps in `tuned.json`. What a draw came to is kept beside
its run as JSON, and is not done again. The way is chosen by the mean over draws on dev, and so is the draw whose model
is kept: test figures choose nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from unmask.evaluation.tuned.classify import ask_examples
from unmask.evaluation.tuned.leaks import find_leaks
from unmask.evaluation.tuned.measured import note_measurements
from unmask.files import sha256_of, write_json
from unmask.intervals import ratio_figure, within
from unmask.results import FewDraw, FewMethod, FewTuned, Figure, Overlap, to_plain
from unmask.runs.commands import next_commands
from unmask.runs.directory import read_description
from unmask.runs.tuned_report import RESULT
from unmask.tasks.classify.calibration import macro_f1
from unmask.tasks.classify.classifier import Classifier, targets_of
from unmask.tasks.few.plan import FewLearning, FewPlan, open_few
from unmask.tasks.trials import keep_run
from unmask.tasks.tune import load_tuned


def tune_few(
    out: Path, plan: FewPlan, places: Mapping[str, Path], given: Mapping[str, Any], *, resume: bool
) -> FewTuned:
    """Learn a few labels in every way on every draw, or what is left of it, and keep the best model on dev."""
    with open_few(out, plan, places, given, resume=resume) as learning:
        draws: dict[str, list[FewDraw]] = {method: [] for method in learning.methods}
        for draw in range(1, plan.draws + 1):
            for method in learning.methods:
                draws[method].append(judge_draw(learning, method, draw))
        methods = tuple(summed_up(method, each) for method, each in draws.items())
        best = max(methods, key=lambda method: (method.dev, -fmean(each.dev_loss for each in method.draws)))
        kept = max(best.draws, key=lambda each: (each.dev, -each.dev_loss))
        keep_run(learning.place(best.name, kept.draw), out)
        result = _few_tuned(learning, methods, best.name, kept.draw)
        write_json(out / RESULT, to_plain(asdict(result)))
    return result


def judge_draw(learning: FewLearning, method: str, draw: int) -> FewDraw:
    """What a way comes to on a draw; what is kept of it is not done again."""
    file = learning.place(method, draw).with_suffix(".json")
    if file.is_file():
        return FewDraw(**json.loads(file.read_text(encoding="utf-8")))
    run = learning.run(method, draw).run
    accuracy = macro = None
    if learning.test is not None:
        classifier = load_tuned(run.path)
        assert isinstance(classifier, Classifier)
        said = classifier.decisions(ask_examples(classifier, learning.test))
        true = targets_of([example.labels for example in learning.test.examples], learning.train.labels) > 0
        accuracy, macro = float((said == true).all(1).mean()), macro_f1(said, true)
    result = FewDraw(
        draw=draw,
        dev=run.figures["accuracy"],
        dev_loss=run.figures["loss"],
        accuracy=accuracy,
        macro_f1=macro,
        seconds=run.seconds,
    )
    write_json(file, asdict(result))
    learning.tidy(method, draw)
    return result


def summed_up(name: str, draws: Sequence[FewDraw]) -> FewMethod:
    """The means over draws, with intervals by how far draws differ (Student's t)."""
    accuracies = [each.accuracy for each in draws if each.accuracy is not None]
    return FewMethod(
        name=name,
        dev=fmean(each.dev for each in draws),
        accuracy=_over_draws(accuracies),
        deviation=stdev(accuracies) if accuracies else None,
        macro_f1=_over_draws([each.macro_f1 for each in draws if each.macro_f1 is not None]),
        draws=tuple(draws),
    )


def _over_draws(values: Sequence[float]) -> Figure | None:
    return within(ratio_figure(np.array(values), np.ones(len(values))), 0.0, 1.0) if values else None


def _few_tuned(learning: FewLearning, methods: tuple[FewMethod, ...], best: str, draw: int) -> FewTuned:
    out, test, prompt = learning.out, learning.test, learning.prompt
    weights = sha256_of(out / "model" / "model.safetensors")
    overlaps: tuple[Overlap, ...] = ()
    before = 0
    if test is not None:
        texts_of = learning.tuning(best, draw).texts_of
        overlaps = find_leaks("test", texts_of(test), texts_of(learning.train), learning.start).overlaps
        before = note_measurements(test.digest, {weights: out})
    return FewTuned(
        path=out,
        model=out / "model",
        task="classify",
        start=learning.start,
        labels=learning.train.labels,
        fields=dict(learning.train.fields._asdict()),
        few=learning.plan.few,
        methods=methods,
        best=best,
        draw=draw,
        patterns=() if prompt is None else prompt.patterns,
        verbalisers={} if prompt is None else dict(prompt.verbalisers),
        test=None if test is None else test.path,
        test_examples=0 if test is None else len(test),
        overlaps=overlaps,
        measured_before=before,
        notes=(f"no patterns: {learning.reason}",) if learning.reason else (),
        next=next_commands(out, read_description(out), "finished"),
        weights_sha256=weights,
    )
