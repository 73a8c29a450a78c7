"""What is compared: recipes that are going to be trained, and models that exist already.

In: recipes with a budget, and paths of runs or of model directories. Out: a `Contender` each, which says where its
model is or will be and what can be asked of it. What cannot be compared is told here, before anything is trained.
"""

from __future__ import annotations

import gc
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch.nn import Module
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.files import sha256_of
from unmask.inference.vectors import Encoder, encoder_of, load_encoder
from unmask.models.load import load_model
from unmask.models.locate import model_directory
from unmask.models.masked_lm import is_masked_lm
from unmask.planning.cost import cost_of
from unmask.planning.forecast import recipe_of
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.settings import Recipe
from unmask.runs.directory import DESCRIPTION, read_description
from unmask.runs.history import read_history, summarize_run
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.training.budget import Budget

GENERATOR, MODEL = "generator", "model"  # of the directories a run exports, the first is the masked LM if it is there


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One of those that are compared, and what can be said of it before it is measured."""

    name: str  # in tables and pictures
    path: Path  # its run, or its model directory
    budget: Budget | None  # to train it; none where it exists
    masked: Path | None  # the directory that restores masked tokens; none where nothing does
    probed: Path  # the directory whose vectors are probed
    length: int | None  # the most tokens in a row
    tokenizer: str  # a digest
    pretraining: Pretraining | None = None  # on the data that is compared on, where it was trained or will be on that
    bound: bool = False  # whether what it says of a text's likelihood is a bound
    description: Mapping[str, Any] = field(default_factory=dict)  # of a run that exists

    @property
    def recipe(self) -> str | None:
        """The name of its recipe, where it is known."""
        if self.pretraining is not None:
            return self.pretraining.recipe.name
        return str(self.description["name"]) if "name" in self.description else None


def recipe_contender(
    recipe: Recipe, dataset: Dataset, out: Path, *, seed: int, budget: Budget, flops: float | None
) -> Contender:
    """A recipe as it would begin; one that cannot is told before anything is trained."""
    try:
        pretraining = Pretraining.of(dataset, recipe, seed)
        pretraining.job()
    except BadInput as error:
        raise BadInput(f"{recipe.name}: {error}") from error
    learner, objective = pretraining.learner(fresh=False), pretraining.objective
    exported = objective.exports(learner)
    restores = objective.masked_lm(learner) is not None
    if flops is not None:
        budget = Budget(steps=max(1, round(flops / cost_of(pretraining).a_step)))
    gc.collect()  # models have cycles, and the next one wants their memory
    run = out / recipe.name
    return Contender(
        name=recipe.name,
        path=run,
        budget=budget,
        masked=run / (GENERATOR if GENERATOR in exported else MODEL) if restores else None,
        probed=run / MODEL,
        length=recipe.settings.lengths.longest,
        tokenizer=tokenizer_digest(dataset.tokenizer()),
        pretraining=pretraining,
        bound="bound" in objective.terms,
    )


def model_contender(path: Path, name: str, dataset: Dataset) -> Contender:
    """A run that is finished, or a masked language model from elsewhere; loaded once, so that damage is told now."""
    probed = model_directory(path)
    description = read_description(path) if (path / DESCRIPTION).exists() else {}
    masked: Path | None = path / GENERATOR if description and (path / GENERATOR).is_dir() else probed
    if description and masked == probed and not is_masked_lm(probed):
        masked = None
    lm = None if masked is None else load_model(masked)
    length = load_encoder(probed).length if lm is None else lm.length
    pretraining = _pretraining_of(path, description, dataset) if description else None
    gc.collect()
    return Contender(
        name=name,
        path=path,
        budget=None,
        masked=masked,
        probed=probed,
        length=length,
        tokenizer=tokenizer_digest(load_tokenizer(probed) if lm is None else lm.tokenizer),
        pretraining=pretraining,
        bound=pretraining is not None and "bound" in pretraining.objective.terms,
        description=description,
    )


def _pretraining_of(run: Path, description: Mapping[str, Any], dataset: Dataset) -> Pretraining | None:
    """How a run was trained, if it was on this data and with a recipe that this version knows."""
    if description.get("data") != dataset.fingerprint:
        return None
    try:
        return Pretraining.of(dataset, recipe_of(run)[0], int(description.get("seed", 0)))
    except BadInput:  # a list of phrases that is gone, a setting of another version: then less is asked of it
        return None


def contender_names(paths: Sequence[Path], taken: Collection[str] = ()) -> list[str]:
    """The shortest ends of paths that tell them apart, and from the names that are taken.

    >>> contender_names([Path("/a/run-1"), Path("/a/run-2")])
    ['run-1', 'run-2']
    >>> contender_names([Path("/a/model"), Path("/b/model"), Path("/x/bert")], taken=["bert"])
    ['a/model', 'b/model', 'x/bert']
    """
    resolved = [path.resolve() for path in paths]
    for path, place in zip(paths, resolved, strict=True):
        if resolved.count(place) > 1:
            raise BadInput(f"{path}: is named twice")
    depths = [1] * len(paths)
    while True:
        names = [str(Path(*place.parts[-depth:])) for place, depth in zip(resolved, depths, strict=True)]
        alike = [names.count(name) > 1 or name in taken for name in names]
        if not any(alike):
            return names
        depths = [depth + again for depth, again in zip(depths, alike, strict=True)]


def weights_digest(contender: Contender) -> str:
    """A digest of the weights that are measured: a comparison goes on only with the same ones."""
    directories = dict.fromkeys(place for place in (contender.masked, contender.probed) if place is not None)
    files = [file for place in directories for file in sorted(place.glob("*.safetensors"))]
    return sha256("".join(map(sha256_of, files)).encode()).hexdigest()


def tokenizer_digest(tokenizer: PreTrainedTokenizerFast) -> str:
    """A digest of how text is cut: loss and accuracy of models compare where it is the same."""
    return sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest()


def trained_before(contender: Contender) -> dict[str, Any]:
    """What is known of the training of a model that exists: all of a run's, nothing of one that came from elsewhere."""
    parameters = sum(parameter.numel() for parameter in _whole_model(contender).parameters())
    if not contender.description:
        return {"parameters": parameters, "steps": None, "tokens": None, "seconds": None, "figures": {}}
    status = summarize_run(read_history(contender.path))
    figures = {} if status.final is None else dict(status.final.figures)
    for name in ("loss", "accuracy", "perplexity", "predictions"):
        figures.pop(name, None)
    return {
        "parameters": parameters,
        "steps": status.step,
        "tokens": status.tokens,
        "seconds": status.seconds,
        "figures": figures,
    }


def _whole_model(contender: Contender) -> Module:
    """All that was trained, on the meta device, where it is known; else what is there of it."""
    if contender.pretraining is not None:
        with torch.device("meta"):
            return contender.pretraining.learner()
    if contender.masked is None:
        return load_encoder(contender.probed).model
    return load_model(contender.masked).model


def untrained_encoder(contender: Contender) -> Encoder:
    """The same model before its first step; of one that came from elsewhere, one like it with random weights."""
    if contender.pretraining is not None:
        pretraining = contender.pretraining
        model = pretraining.objective.exports(pretraining.learner())[MODEL].model
        return encoder_of(model, pretraining.dataset.tokenizer())
    config = AutoConfig.from_pretrained(contender.probed, local_files_only=True, trust_remote_code=False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModel.from_config(config, dtype=torch.float32)
    return encoder_of(model, load_tokenizer(contender.probed))
