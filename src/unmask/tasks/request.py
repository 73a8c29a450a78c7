"""What is asked of a tuning, whatever the task: a new run, or one to go on with.

In: places and settings as they are given. Out: `TuneRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.runs.commands import PRETRAIN, resume_command
from unmask.runs.directory import read_description
from unmask.tasks.settings import TuneSettings, micro_batch_for
from unmask.training.budget import Budget
from unmask.training.machine.computing import Computing
from unmask.training.machine.distributed import launched
from unmask.training.observer import Saving
from unmask.training.precision import AUTO

Given = Mapping[str, Any]
FIELDS = ("text", "pair", "label", "group")


@dataclass(frozen=True, kw_only=True)
class TuneRequest:
    """Everything that a tuning takes beside the run directory."""

    places: Mapping[str, Path]  # of the model, the examples and, where they are given, dev and test
    fields: Mapping[str, str | None]  # as asked for
    settings: TuneSettings
    budget: Budget
    saving: Saving
    reproducible: bool
    computing: Computing
    workers: int | None
    resume: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)  # that only this task has


def new_request(places: Mapping[str, Path], given: Given) -> TuneRequest:
    """A run that is to begin."""
    settings = TuneSettings(**_chosen(TuneSettings, given))
    reproducible = bool(given.get("reproducible", False))
    if settings.micro_batch is None:
        processes, _ = launched()
        micro_batch = micro_batch_for(settings.batch_size, processes, reproducible=reproducible)
        settings = replace(settings, micro_batch=micro_batch)
    return TuneRequest(
        places=places,
        fields={name: given.get(name) for name in FIELDS},
        settings=settings,
        budget=Budget(**_chosen(Budget, given)),
        saving=Saving(best=True, **_chosen(Saving, given)),
        reproducible=reproducible,
        computing=Computing(**{"precision": AUTO, **_chosen(Computing, given)}),
        workers=given.get("workers"),
        options=given.get("options", {}),
    )


def resumed_tuning(run: Path, task: str, places: Mapping[str, Path], given: Given) -> TuneRequest:
    """A run that is to go on: what it was, and where its files are now if they have moved."""
    description = read_description(run)
    if description.get("kind") != f"tune {task}":
        again = resume_command(run, description.get("kind", PRETRAIN))
        raise BadInput(f"{run}: is a run of another kind; {again} goes on with it")
    recorded = {name: Path(place) for name, place in description["places"].items()}
    for name, place in {**recorded, **places}.items():
        if not place.exists():
            flag = name.upper() if name in ("model", "train") else f"--{name}"
            raise BadInput(f"{run}: its {name} is no longer at {place}; say where it is now by {flag}")
    settings = {**description["tuning"], "seed": description["seed"], **_chosen(TuneSettings, given)}
    return TuneRequest(
        places={**recorded, **places},
        fields={**description["fields"], **{name: given[name] for name in FIELDS if name in given}},
        settings=TuneSettings(**settings),
        budget=Budget(**_chosen(Budget, given)),
        saving=Saving(**{**(description.get("saving") or {}), "best": True, **_chosen(Saving, given)}),
        reproducible=given.get("reproducible", description.get("reproducible", False)),
        computing=Computing(**{**description["computing"], **_chosen(Computing, given)}),
        workers=given.get("workers", description.get("workers")),
        resume=True,
        options={**description.get("options", {}), **given.get("options", {})},
    )


def _chosen(kind: type[Any], given: Given) -> dict[str, Any]:
    """Those of the given settings that a dataclass has a field for."""
    return {each.name: given[each.name] for each in fields(kind) if each.name in given}
