"""What is asked of an adaptation: all of it for a new run; for one that goes on, what the run says of itself.

In: places and settings as they are given. Out: `AdaptRequest`, and what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from unmask.adapting.adapt import KIND
from unmask.adapting.settings import AdaptSettings
from unmask.errors import BadInput
from unmask.pretraining.request import fit_micro_batch
from unmask.runs.claim import read_sealed
from unmask.runs.commands import PRETRAIN, resume_command
from unmask.runs.directory import DESCRIPTION, read_description
from unmask.training.budget import Budget
from unmask.training.machine.computing import Computing
from unmask.training.machine.distributed import launched
from unmask.training.observer import Saving
from unmask.training.precision import AUTO

Given = Mapping[str, Any]
REQUEST = "adapting.json"  # what was asked for, until the run itself has begun


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
    begun = "steps" in before
    settings = AdaptSettings(**{**before.get("adapting", {}), **_chosen(AdaptSettings, given)})
    reproducible = given.get("reproducible", before.get("reproducible", False))
    if run is None and "micro_batch" not in given:
        rows = fit_micro_batch(settings.micro_batch, settings.batch_size, launched()[0], reproducible=reproducible)
        settings = replace(settings, micro_batch=rows)
    budget = Budget(**({} if begun else before.get("budget") or {}) | _chosen(Budget, given))
    if run is None and not budget.is_set and "data" in places:
        budget = Budget(epochs=1)
    return AdaptRequest(
        places={**recorded, **places},
        settings=settings,
        seed=given.get("seed", before.get("seed", 0)),
        budget=budget,
        saving=Saving(**{**(before.get("saving") or {}), **_chosen(Saving, given)}),
        reproducible=reproducible,
        computing=Computing(**{"precision": AUTO, **before.get("computing", {}), **_chosen(Computing, given)}),
        workers=given.get("workers", before.get("workers")),
        resume=run is not None,
    )


def _description_of(run: Path) -> Mapping[str, Any]:
    """What a run says of itself; one that was stopped before it had begun says what it was asked for."""
    early = (run / REQUEST).is_file() and not (run / DESCRIPTION).exists()
    description = read_sealed(run / REQUEST) if early else read_description(run)
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
