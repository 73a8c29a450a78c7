"""What is asked of an adaptation: all of it for a new run; for one that goes on, what the run says of itself.

In: places and settings as they are given. Out: `AdaptRequest`, and what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from unmask.adapting.adapt import KIND, Adapting, result_of
from unmask.adapting.settings import AdaptSettings
from unmask.errors import BadInput
from unmask.results import Adapted
from unmask.runs.commands import PRETRAIN, resume_command
from unmask.runs.directory import read_description
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget
from unmask.training.machine.computing import Computing
from unmask.training.observer import Saving
from unmask.training.precision import AUTO
from unmask.training.run_job import run_job

Given = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class AdaptRequest:
    """Everything that an adaptation takes beside the run directory."""

    places: Mapping[str, Path]  # of the model, the domain and, where it is given, general text
    settings: AdaptSettings
    seed: int
    budget: Budget
    saving: Saving
    reproducible: bool
    computing: Computing
    workers: int | None
    resume: bool


def adapt_request(run: Path | None, places: Mapping[str, Path], given: Given) -> AdaptRequest:
    """A run that is to begin or, where one is named, to go on."""
    before: Mapping[str, Any] = {} if run is None else _description_of(run)
    recorded = {name: Path(place) for name, place in before.get("places", {}).items()}
    budget = Budget(**_chosen(Budget, given))
    if run is None and not budget.is_set:
        budget = Budget(epochs=1)
    return AdaptRequest(
        places={**recorded, **places},
        settings=AdaptSettings(**{**before.get("adapting", {}), **_chosen(AdaptSettings, given)}),
        seed=given.get("seed", before.get("seed", 0)),
        budget=budget,
        saving=Saving(**{**(before.get("saving") or {}), **_chosen(Saving, given)}),
        reproducible=given.get("reproducible", before.get("reproducible", False)),
        computing=Computing(**{"precision": AUTO, **before.get("computing", {}), **_chosen(Computing, given)}),
        workers=given.get("workers", before.get("workers")),
        resume=run is not None,
    )


def run_adaptation(out: Path, request: AdaptRequest) -> Adapted:
    """Adapt a model, or go on adapting it."""
    places = request.places
    general = Dataset.open(places["replay"]) if "replay" in places else None
    adapting = Adapting(places["model"], Dataset.open(places["data"]), general, request.settings, request.seed)
    adapting.check()
    adapting.say_what_is_learnt()
    finished_run = run_job(
        adapting.job(),
        out,
        request.budget,
        resume=request.resume,
        saving=request.saving,
        reproducible=request.reproducible,
        computing=request.computing,
        workers=request.workers,
    )
    return result_of(adapting, finished_run)


def _description_of(run: Path) -> Mapping[str, Any]:
    description = read_description(run)
    if description.get("kind") != KIND:
        again = resume_command(run, description.get("kind", PRETRAIN))
        raise BadInput(f"{run}: is a run of another kind; {again} goes on with it")
    for name, place in description["places"].items():
        if not Path(place).exists():
            raise BadInput(f"{run}: its {name} is no longer at {place}; put it back there")
    return description


def _chosen(kind: type[Any], given: Given) -> dict[str, Any]:
    """Those of the given settings that a dataclass has a field for."""
    return {field.name: given[field.name] for field in fields(kind) if field.name in given}
