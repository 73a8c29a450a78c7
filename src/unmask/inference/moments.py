"""A run's model at the moments that were kept: what it knew when.

In: a run, finished or still trained. Out: the model with the weights of one moment after another; there is one model in
memory, whose weights change. A run that kept none has its exported model, which is its last moment. A run that is still
trained has a description of its model, and moments that are whole: they get their names when they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import Module

from unmask.errors import BadInput
from unmask.models.load import LoadedModel, load_model, load_shape
from unmask.models.masked_lm import is_masked_lm
from unmask.runs.directory import MODEL, SHAPE
from unmask.runs.moments import Moment, kept_moments
from unmask.training.checkpoint import load_weights

GENERATOR = "generator"  # beside a model that detects what was replaced
PARTS = ("", "model.", "generator.")  # what the masked model is called inside of what was trained
CONFIG = "config.json"
LAST = "as exported"
REMEMBERED = 256 << 20  # bytes of weights that stay in memory, to be asked again


@dataclass(frozen=True)
class MomentModels:
    """The masked language model of a run at each of its moments."""

    run: Path
    loaded: LoadedModel
    moments: tuple[Moment, ...]  # oldest first; of a run that kept none, the model as it was exported
    remembered: dict[Path, dict[str, Tensor]] = field(default_factory=dict)

    @classmethod
    def open(cls, run: Path, *, most: int | None = None, device: str | None = None) -> MomentModels:
        """The model of a run; at the most so many of its moments, evenly spread."""
        return cls(run, _load(run, device=device), ()).with_moments(most)

    def with_moments(self, most: int | None = None) -> MomentModels:
        """The same with the moments that are there now."""
        moments = kept_moments(self.run, most) or [Moment(0, self.loaded.path, (LAST,))]
        for gone in self.remembered.keys() - {moment.folder for moment in moments}:
            del self.remembered[gone]
        return replace(self, moments=tuple(moments))

    def at(self, moment: Moment) -> LoadedModel:
        """The model as it was at a moment; what was given before is it too from now on."""
        loaded = self.loaded
        if moment.folder == loaded.path:
            return loaded
        put_weights(loaded.model, self._weights(moment.folder), moment.folder)
        place = loaded.path, loaded.model, loaded.tokenizer, loaded.vocabulary  # not what was made of other weights
        return LoadedModel.of(*place, loaded.length, loaded.precision)

    def _weights(self, folder: Path) -> dict[str, Tensor]:
        if folder in self.remembered:
            return self.remembered[folder]
        weights = load_weights(folder)
        held = sum(tensor.nbytes for each in (*self.remembered.values(), weights) for tensor in each.values())
        if held <= REMEMBERED:
            self.remembered[folder] = weights
        return weights


def filling_directory(run: Path) -> Path:
    """Where the model of a run is that fills blanks: its own, or the generator beside one that detects."""
    if not (run / MODEL / CONFIG).is_file():
        raise BadInput(f"{run}: has no model yet; it is there when the run is finished")
    beside = run / GENERATOR
    return beside if (beside / CONFIG).is_file() and not is_masked_lm(run / MODEL) else run / MODEL


def _load(run: Path, *, device: str | None = None, precision: str = "float32") -> LoadedModel:
    """The model of a run, or a place for the weights of its moments where it is still trained."""
    if not (run / MODEL / CONFIG).is_file() and (run / SHAPE / CONFIG).is_file() and (moments := kept_moments(run)):
        return load_shape(run / SHAPE, moments[-1].folder, device=device, precision=precision)
    return load_model(filling_directory(run), device=device, precision=precision)


def put_weights(model: Module, weights: dict[str, Tensor], source: Path) -> None:
    """Have a model know what was known at a moment; names and shapes must be its own."""
    parameters = dict(model.named_parameters())
    for part in PARTS:
        shapes = {name: weights[part + name].shape for name in parameters if part + name in weights}
        if shapes == {name: parameter.shape for name, parameter in parameters.items()}:
            with torch.no_grad():
                for name, parameter in parameters.items():
                    parameter.copy_(weights[part + name])
            return
    raise BadInput(f"{source}: its weights are not those of the model in {MODEL}/")


def model_at_step(run: Path, step: int, *, device: str | None = None, precision: str = "float32") -> LoadedModel:
    """The model of a run as it was after so many steps, if that moment was kept."""
    run = run.parent if run.name in (MODEL, SHAPE) else run
    steps = {moment.step: moment for moment in kept_moments(run)}
    if step not in steps:
        kept = ", ".join(map(str, steps)) or "no moment, pretrain --keep-moments does"
        raise BadInput(f"--step {step}: {run} kept {kept}")
    loaded = _load(run, device=device, precision=precision)
    return MomentModels(run, loaded, (steps[step],)).at(steps[step])
