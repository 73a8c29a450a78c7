"""What came of an adaptation: mixtures of before and after, the one that is kept, and what it does better and worse.

In: a learner after its last step. Out: `model/`, and `adapted.json` beside it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

from torch.nn import Module
from transformers import PreTrainedModel

from unmask.adapting.card import adapted_card
from unmask.adapting.comparing import compare_texts
from unmask.adapting.likeness import compare_halves, compare_scored
from unmask.adapting.mixtures import best_mixture, measure_mixtures, put_mixture, weights_of
from unmask.adapting.settings import AdaptSettings
from unmask.adapting.showing import TERMS, blanked_sentences, find_terms, show_fills, show_neighbours
from unmask.adapting.start import AdaptStart, start_masked_lm
from unmask.adapting.validation import AdaptValidation
from unmask.files import sha256_of, write_json
from unmask.inference.held_out_fills import write_fills
from unmask.inference.sentence_layout import is_tuned, read_layout
from unmask.inference.vectors import encoder_of, load_encoder
from unmask.models.load import LoadedModel
from unmask.pretraining.card import WEIGHTS, export_model
from unmask.progress import task
from unmask.results import Adapted, Figure, Likeness, Mixture, NewWords, TermFill, TermNeighbours, TextChange
from unmask.results.plain import to_plain
from unmask.runs.commands import next_commands
from unmask.tokens.tokenizer.load import vocabulary_of
from unmask.training.job import FinishedRun

RESULT = "adapted.json"
LAYOUT = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json")  # of a sentence encoder


@dataclass(frozen=True)
class Sides:
    """A model as it was given, as its training began (the same where nothing was added), and as it is kept."""

    given: PreTrainedModel
    begun: PreTrainedModel
    kept: PreTrainedModel


def write_outcome(
    start: AdaptStart,
    begun: Module,
    learner: Module,
    finished_run: FinishedRun,
    held_out: AdaptValidation,
    *,
    settings: AdaptSettings,
    longest: int,
    length: int,
) -> None:
    """Measure mixtures of before and after, write the best within the budget of forgetting, and compare it."""
    objective = held_out.objective
    masked: Any = objective.masked_lm(learner)
    begun.to(masked.device)
    before = weights_of(begun)
    mixtures = measure_mixtures(learner, before, held_out, settings.forget)
    kept = best_mixture(mixtures, settings.forget)
    put_mixture(learner, before, weights_of(learner), kept.share)
    first_masked: Any = objective.masked_lm(begun)
    given: Any = start_masked_lm(start.model) if start.extension and not start.lacking else first_masked
    sides = Sides(given.to(masked.device), first_masked, masked)
    losses = held_out.losses(begun), held_out.losses(learner)
    first = losses[0] if given is first_masked else AdaptValidation.of(start.data, start.replay, length).losses(given)
    changes = compare_texts(start, first, *losses)
    result = {
        "before": losses[0].figures,
        "after": losses[1].figures,
        "mixtures": [asdict(mixture) for mixture in mixtures],
        "kept": kept.share,
        "why": why_kept(kept, mixtures, settings.forget, losses[0].figures, losses[1].figures),
        "ended": None if finished_run.ended is None else why_ended(finished_run),
        "forget": settings.forget,
        **{name: asdict(change) for name, change in changes.items()},
        **look_at(start, sides, longest),
        "likeness": [asdict(each) for each in likeness_of(start, sides, settings.similarity)],
        "new_words": new_words_of(start),
    }
    card = adapted_card(start.model, start.data, finished_run, result)
    for name, export in objective.exports(learner).items():
        export_model(export, start.domain, finished_run.path / name, card, length=longest)
    copy_layout(start.model, finished_run.path / "model")
    write_json(finished_run.path / RESULT, to_plain(result))
    write_fills(finished_run.path, start.domain, finished_run.seconds)


def look_at(start: AdaptStart, sides: Sides, longest: int) -> dict[str, Any]:
    """Sentences filled and neighbours of terms, by the model as it was given and as it is kept."""
    terms = find_terms(start.data, start.replay)
    blanked = blanked_sentences(start.data, terms)
    new = start.domain.tokenizer()
    old = new if sides.given is sides.begun else start.data.tokenizer()
    before, after = (
        LoadedModel.of(start.model, model.eval(), tokenizer, vocabulary_of(tokenizer), longest)
        for model, tokenizer in ((sides.given, old), (sides.kept, new))
    )
    with task("Filling sentences of the domain") as step:
        fills, neighbours = show_fills(before, after, blanked), show_neighbours(before, after, terms[:TERMS])
        step(1, note=f"{len(fills)} of them")
    return {"fills": [asdict(each) for each in fills], "neighbours": [asdict(each) for each in neighbours]}


def likeness_of(start: AdaptStart, sides: Sides, scored: str | None) -> list[Likeness]:
    """Whether vectors still tell what is alike: of an encoder tuned for that, or where scored pairs are given."""
    layout = read_layout(start.model)
    if (not is_tuned(start.model) and scored is None) or (layout is not None and layout.beyond):
        return []
    new = start.domain.tokenizer()
    encoders = load_encoder(start.model, device=str(sides.kept.device)), encoder_of(sides.kept, new)
    encoders = encoders[0], replace(encoders[1], length=encoders[0].length)
    texts = [("domain", start.data), *([] if start.replay is None else [("general text", start.replay)])]
    found = [compare_halves(name, dataset, start.model, *encoders) for name, dataset in texts]
    if scored is not None:
        found.append(compare_scored(Path(scored), start.model, *encoders))
    return [each for each in found if each is not None]


def copy_layout(directory: Path, model: Path) -> None:
    """Let a sentence encoder stay one: what says how its vectors are pooled goes with it."""
    if not (directory / LAYOUT[0]).is_file():
        return
    for name in LAYOUT:
        if (directory / name).is_file():
            shutil.copyfile(directory / name, model / name)
    for config in directory.glob("[0-9]*_*/config.json"):
        (model / config.parent.name).mkdir(exist_ok=True)
        shutil.copyfile(config, model / config.parent.name / "config.json")


def new_words_of(start: AdaptStart) -> dict[str, Any] | None:
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
    return f"{said}: further would forget more than {forget}; with a larger --replay-share less is forgotten"


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
        domain=_text_change(found["domain"]),
        general=_text_change(found["general"]) if "general" in found else None,
        fills=tuple(TermFill(**_tuples(each)) for each in found["fills"]),
        neighbours=tuple(TermNeighbours(**_tuples(each)) for each in found["neighbours"]),
        likeness=tuple(Likeness(**_figures(each)) for each in found["likeness"]),
        new_words=None if new_words is None else NewWords(**new_words),
        next=next_commands(run.path, run.description, "finished"),
        weights_sha256=sha256_of(run.path / "model" / WEIGHTS),
    )


def _figures(values: dict[str, Any]) -> dict[str, Any]:
    """JSON with its figures as figures; what is not known is null there."""
    return {name: _figure(value) if isinstance(value, dict) else value for name, value in values.items()}


def _figure(values: dict[str, float | None]) -> Figure:
    return Figure(*(nan if (value := values[name]) is None else value for name in ("value", "low", "high")))


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _text_change(values: dict[str, Any]) -> TextChange:
    return TextChange(**_figures(values))
