"""What came of an adaptation: mixtures of before and after, the one that is kept, and what it does better and worse.

In: a learner after its last step. Out: `model/`, and `adapted.json` beside it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from unmask.adapting.card import adapted_card
from unmask.adapting.mixtures import best_mixture, measure_mixtures, put_mixture, weights_of
from unmask.adapting.start import Start
from unmask.adapting.validation import AdaptValidation
from unmask.files import sha256_of, write_json
from unmask.objectives.text import Export
from unmask.pretraining.card import WEIGHTS, export_model
from unmask.results import Adapted, Mixture, NewWords
from unmask.runs.commands import next_commands
from unmask.training.job import FinishedRun
from unmask.training.machine.distributed import ALONE

RESULT = "adapted.json"


def write_outcome(
    start: Start,
    learner: PreTrainedModel,
    finished_run: FinishedRun,
    held_out: AdaptValidation,
    *,
    forget: float | None,
    longest: int,
) -> None:
    """Measure mixtures of before and after, and write the best that is within the budget of forgetting."""
    begun: Any = start.masked_lm()
    begun.to(learner.device)
    before, figures = weights_of(begun), held_out.measure(begun, None, ALONE)
    mixtures = measure_mixtures(learner, before, held_out)
    kept = best_mixture(mixtures, forget)
    put_mixture(learner, before, weights_of(learner), kept.share)
    after = held_out.measure(learner, None, ALONE)
    result = {
        "before": figures,
        "after": after,
        "mixtures": [asdict(mixture) for mixture in mixtures],
        "kept": kept.share,
        "why": why_kept(kept, mixtures, forget, figures, after),
        "ended": None if finished_run.ended is None else why_ended(finished_run),
        "new_words": new_words_of(start),
    }
    card = adapted_card(start.model, start.data, finished_run, result)
    export_model(Export(learner), start.domain, finished_run.path / "model", card, length=longest)
    write_json(finished_run.path / RESULT, result)


def new_words_of(start: Start) -> dict[str, Any] | None:
    """What the new words save, where there are some."""
    if start.extension is None:
        return None
    tokens = start.extension.facts["tokens"]
    return {"words": start.extension.words, "tokens_before": tokens["before"], "tokens_after": tokens["after"]}


def why_ended(finished_run: FinishedRun) -> str:
    """Why a run ended before its budget did, in a sentence."""
    return f"ended after {finished_run.steps:,} of {finished_run.description['steps']:,} steps: {finished_run.ended}"


def why_kept(
    kept: Mixture, mixtures: list[Mixture], forget: float | None, before: dict[str, float], after: dict[str, float]
) -> str:
    """What is kept and why, in a sentence."""
    if kept.share == 0:
        within = "" if forget is None else f" and forgets at most {forget}"
        return f"kept the model as it was: no mixture does better in the domain{within}"
    gain = before["loss"] - after["loss"]
    said = f"kept {kept.share:.0%} of the way, which gains {gain:.3f} nats in the domain"
    if "general_loss" not in after:
        return f"{said}; what it forgot is not known"
    rise = after["general_loss"] - before["general_loss"]
    said += f" and loses {rise:.3f} in general" if rise > 0 else f" and gains {-rise:.3f} in general"
    if forget is None or kept.share == min(mixtures, key=lambda mixture: mixture.loss).share:
        return said
    return f"{said}: further would forget more than {forget}"


def read_outcome(run: FinishedRun, start: Path, *, lr: float, forget: float | None) -> Adapted:
    """What came of an adaptation that is finished."""
    found: dict[str, Any] = json.loads((run.path / RESULT).read_text(encoding="utf-8"))
    new_words = found["new_words"]
    return Adapted(
        path=run.path,
        model=run.path / "model",
        start=start,
        parameters=run.parameters,
        lr=lr,
        steps=run.steps,
        tokens=run.tokens,
        seconds=run.seconds,
        precision=run.description["computing"]["precision"],
        before=found["before"],
        after=found["after"],
        forget=forget,
        mixtures=tuple(Mixture(**mixture) for mixture in found["mixtures"]),
        kept=found["kept"],
        why=found["why"],
        ended=found["ended"],
        new_words=None if new_words is None else NewWords(**new_words),
        next=next_commands(run.path, run.description, "finished"),
        weights_sha256=sha256_of(run.path / "model" / WEIGHTS),
    )
