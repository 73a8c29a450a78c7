"""What is asked of a pretraining: all of it for a new run; for one that goes on, what the run says of itself.

In: the settings that were given, by the names of the fields they are for. Out: a `PretrainRequest`. Where some are
given along with a run to go on with, they must be what the run has, and all that are not are named at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from unmask import __version__
from unmask.errors import BadInput
from unmask.files import json_digest
from unmask.objectives.curriculum import parse_curriculum
from unmask.pretraining.lengths import parse_lengths
from unmask.pretraining.pretrain import FLAGS
from unmask.pretraining.recipes import DEFAULT_SIZE, recipe_named
from unmask.pretraining.settings import PretrainSettings, Recipe
from unmask.runs.commands import PRETRAIN, quoted_path, resume_command
from unmask.runs.directory import read_description, refuse_other_run
from unmask.tokens.spans.phrases import read_phrases
from unmask.tokens.store.dataset import Dataset
from unmask.training import run_job
from unmask.training.budget import Budget
from unmask.training.machine.computing import Computing
from unmask.training.machine.distributed import launched
from unmask.training.observer import Saving
from unmask.training.optimizer import Optimizing
from unmask.training.precision import AUTO

Given = Mapping[str, Any]
REPRODUCIBLE = 8  # micro-batches in a step that is to be the same on any number of processes up to this


@dataclass(frozen=True, kw_only=True)
class PretrainRequest:
    """Everything that `pretrain` takes beside the run directory."""

    data: Path
    recipe: Recipe
    budget: Budget
    seed: int
    saving: Saving
    reproducible: bool
    computing: Computing
    workers: int | None


def new_request(data: Path, given: Given) -> PretrainRequest:
    """A run that is to begin: what was not given is the recipe's, or the usual."""
    recipe = recipe_named(given.get("recipe", DEFAULT_SIZE), **_given_for(PretrainSettings, given))
    processes, _ = launched()
    if "micro_batch" not in given:
        settings, reproducible = recipe.settings, given.get("reproducible", False)
        micro_batch = fit_micro_batch(settings.micro_batch, settings.batch_size, processes, reproducible=reproducible)
        recipe = replace(recipe, settings=replace(settings, micro_batch=micro_batch))
    if given.get("shard"):
        _check_shards(recipe.settings, processes)
    return PretrainRequest(
        data=data,
        recipe=recipe,
        budget=Budget(**_given_for(Budget, given)),
        seed=given.get("seed", 0),
        saving=Saving(**_given_for(Saving, given)),
        reproducible=given.get("reproducible", False),
        computing=Computing(**{"precision": AUTO, **_given_for(Computing, given)}),
        workers=given.get("workers"),
    )


def fit_micro_batch(usual: int, batch_size: int, processes: int, *, reproducible: bool = False) -> int:
    """The blocks of a micro-batch where nobody said how many: as usual, or fewer where processes share a step out.

    Each process is to have as many micro-batches as the others. What is reproducible is to be the same on any number
    of processes, and a sum in other micro-batches is not: there the number of processes is not asked, and a step is cut
    into eight at the least, for up to eight processes.

    >>> [fit_micro_batch(32, 32, count) for count in (1, 2, 3, 24)]
    [32, 16, 11, 1]
    >>> [fit_micro_batch(32, 32, count, reproducible=True) for count in (1, 2, 8)]
    [4, 4, 4]
    """
    counts = {rows: -(-batch_size // rows) for rows in range(min(usual, batch_size), 0, -1)}
    if reproducible:
        return next((rows for rows, count in counts.items() if count >= REPRODUCIBLE), 1)
    if batch_size < processes:
        raise BadInput(
            f"--batch-size {batch_size}: so few blocks in a step cannot keep {processes} processes busy; "
            f"give {processes} or more"
        )
    level = {
        count: rows for rows, count in counts.items()
    }  # the fewest rows that make so many: none is left with a rest
    even = [rows for count, rows in level.items() if count % processes == 0]
    enough = [rows for count, rows in level.items() if count >= processes]
    return (even or enough)[0]


def _check_shards(settings: PretrainSettings, processes: int) -> None:
    """Say how many blocks a step has to have for processes that go through their layers together, where they are long.

    Others may go without where long blocks are fewer than the processes.
    """
    fewest, micro_batches = settings.fewest_blocks, -(-settings.batch_size // settings.micro_batch)
    if fewest >= micro_batches or fewest % processes == 0:
        return
    enough = -(-fewest // processes) * processes * settings.lengths.longest // settings.lengths.first
    raise BadInput(
        f"--batch-size {settings.batch_size}: --shard keeps {processes} processes in step, and of the blocks of "
        f"{settings.lengths.longest:,} tokens a step has {fewest}; give {enough}, or one --length"
    )


def resumed_request(run: Path, data: Path | None, given: Given) -> PretrainRequest:
    """A run that is to go on: what it was, and what was given now of all that may change."""
    description = read_description(run)
    if (kind := description.get("kind", PRETRAIN)) != PRETRAIN:
        raise BadInput(f"{run}: is a run of another kind; {resume_command(run, kind)} goes on with it")
    given = {name: value for name, value in given.items() if (name, value) != ("precision", AUTO)}  # it has its own
    data = data or recorded_data(run, description)
    asked = _asked_recipe(recorded_recipe(run, description), given)
    phrases = _phrases(run, asked.settings.phrases)
    budget = Budget(**_given_for(Budget, given))
    saving = {**(description.get("saving") or {}), "best": description.get("keeps_best", False)}
    request = PretrainRequest(
        data=data,
        recipe=asked,
        budget=budget,
        seed=given.get("seed", description["seed"]),
        saving=Saving(**{**saving, **_given_for(Saving, given)}),
        reproducible=given.get("reproducible", description.get("reproducible", False)),
        computing=Computing(**{**description["computing"], **_given_for(Computing, given)}),
        workers=given.get("workers", description.get("workers")),
    )
    fields_asked = {
        "unmask": __version__,
        "recipe": asdict(asked),
        "data": Dataset.open(data).fingerprint,
        **({"phrases": json_digest(phrases)} if phrases else {}),  # else it is the data's own lists' affair
        "seed": request.seed,
        "budget": asdict(budget) if budget.is_set else None,
        "computing": asdict(request.computing),
        "keeps_best": request.saving.best,
    }
    refuse_other_run(run, description, fields_asked, {**run_job.FLAGS, **FLAGS})
    _check_processes(run, asked.settings)
    if request.computing.shard:
        _check_shards(asked.settings, launched()[0])
    return request


def _check_processes(run: Path, settings: PretrainSettings) -> None:
    """Say how many processes can go on with a run at the most, where there are more: its micro-batches stay."""
    processes, _ = launched()
    rows = min(settings.micro_batch, settings.batch_size)
    count = -(-settings.batch_size // rows)
    if count < processes:
        program = "unmask" if count == 1 else f"torchrun --nproc-per-node {count} -m unmask"
        raise BadInput(
            f"{run}: its steps have {count} micro-batch{'es' if count > 1 else ''} of {rows} blocks, which cannot keep "
            f"{processes} processes busy; to go on with as many as can be: {resume_command(run, program=program)}"
        )


def recorded_data(run: Path, description: Mapping[str, Any]) -> Path:
    """Where a run's data was when it was last trained."""
    place = description.get("places", {}).get("data")
    remedy = f"say where it is now: unmask pretrain DATA --resume {quoted_path(run)}"
    if place is None:
        raise BadInput(f"{run}: its run.json does not say where its data is; {remedy}")
    if not Path(place).exists():
        raise BadInput(f"{run}: its data is no longer at {place}; {remedy}")
    return Path(place)


def recorded_recipe(run: Path, description: Mapping[str, Any]) -> Recipe:
    """The recipe of a run, as its description has it."""
    try:
        recipe = dict(description["recipe"])
        settings = dict(recipe.pop("settings"))
        optimizing = dict(settings.pop("optimizing"))
        optimizing["betas"] = tuple(optimizing["betas"])
        return Recipe(**recipe, settings=PretrainSettings(**settings, optimizing=Optimizing(**optimizing)))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{run}: its recipe is not one that this version knows ({error})") from error


def _asked_recipe(recipe: Recipe, given: Given) -> Recipe:
    """A run's recipe with just that changed which was given, so that nothing else is said to differ."""
    changes = _given_for(PretrainSettings, given)
    if "objective" in changes:
        changes["objective"] = str(parse_curriculum(changes["objective"]))  # by its own names, as the run has it
    if "length" in changes:
        changes["length"] = parse_lengths(changes["length"]).setting
    name = recipe_named(given["recipe"]).name if "recipe" in given else recipe.name
    return replace(recipe, name=name, settings=replace(recipe.settings, **changes))


def _phrases(run: Path, place: str | None) -> list[str]:
    """The list of phrases of a run that goes on."""
    if place is None:
        return []
    if not Path(place).exists():
        remedy = f"say where it is now: unmask pretrain --resume {quoted_path(run)} --phrases FILE"
        raise BadInput(f"{run}: its list of phrases is not at {place}; {remedy}")
    return read_phrases(place)


def _given_for(kind: type[Any], given: Given) -> dict[str, Any]:
    """Those of the given settings that a dataclass has a field for."""
    return {field.name: given[field.name] for field in fields(kind) if field.name in given}
