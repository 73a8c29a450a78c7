"""What came of a tuning, whatever the task; on test examples, where there are some.

In: a tuning that is finished. Out: `Tuned`, which the run keeps in `tuned.json`. The model is asked by the same
function as by `unmask predict`: what it says of a text there is what was measured here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from unmask.evaluation.tuned.classify import judge_classifier
from unmask.evaluation.tuned.leaks import Leaks, find_leaks
from unmask.evaluation.tuned.measured import note_measurement
from unmask.files import sha256_of, write_json
from unmask.results import Overlap, Tuned, to_plain
from unmask.runs.commands import next_commands
from unmask.tasks.tune import TunedRun, load_tuned
from unmask.training.machine.distributed import launched

RESULT = "tuned.json"  # in the run directory
# by task: what measures its tuned model on the test examples
JUDGES: dict[str, Callable[[TunedRun, Any, Leaks], Any]] = {"classify": judge_classifier}


def judge_tuning(tuned: TunedRun) -> Tuned:
    """What came of a tuning. Of many processes the first judges and writes."""
    run, learnt = tuned.run, tuned.learnt
    _, rank = launched()
    model = load_tuned(run.path)
    weights = sha256_of(run.path / "model" / "model.safetensors")
    judged: Any = None
    overlaps: tuple[Overlap, ...] = ()
    before = 0
    if rank == 0:
        learnt_from = learnt.texts_of(learnt.train)
        overlaps = find_leaks("dev", learnt.texts_of(learnt.dev), learnt_from, learnt.start).overlaps
        if tuned.test is not None:
            leaks = find_leaks("test", learnt.texts_of(tuned.test), learnt_from, learnt.start)
            overlaps = (*overlaps, *leaks.overlaps)
            before = note_measurement(tuned.test.digest, run.path, weights)
            judged = JUDGES[learnt.task](tuned, model, leaks)
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
        next=next_commands(run.path, run.description, "finished"),
        weights_sha256=weights,
    )
    if rank == 0:
        write_json(run.path / RESULT, to_plain(asdict(result)))
    return result
