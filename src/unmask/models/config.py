"""What `config.json` says of a model, held against the files that hold its weights.

In: a model directory, and the Auto class of transformers that loads it. Out: its settings, or the model; a config that
would have something run, or that describes another model than the files hold, is refused before memory is taken for it.
"""

from __future__ import annotations

import copy
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import CONFIG_MAPPING, AutoConfig, PreTrainedConfig, PreTrainedModel
from transformers.utils import logging

from unmask.errors import BadInput, Damaged
from unmask.models.settings import read_settings
from unmask.models.weights import weight_shapes
from unmask.tokens.tokenizer.load import NOT_RUN

INSIDE = re.compile(r"(^|\.)(layers?|h|block)\.\d+\.")  # a layer: of BERT and most others, of GPT-2, of T5
GENEROUS = 4  # times the weights in the files: a head that is missing, a matrix that is tied, and no more
MAKING = threading.RLock()  # transformers changes what belongs to the whole process while it makes a model


def read_config(directory: Path, settings: dict[str, Any]) -> PreTrainedConfig:
    """The configuration of a model that transformers has a class for."""
    kind = settings.get("model_type")
    if not isinstance(kind, str):
        raise BadInput(f"{directory}: cannot load a model of type {kind!r}: its config.json names no model_type")
    if kind not in CONFIG_MAPPING:
        code = f"; {NOT_RUN}" if "auto_map" in settings else ""
        raise BadInput(f"{directory}: cannot load a model of type {kind!r}: its code is not part of transformers{code}")
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # each family looks at its settings in its own way
        raise Damaged(f"{directory / 'config.json'}: not the settings of a {kind}: {_reason(error)}") from error
    return config


def _reason(error: Exception) -> str:
    """What an error of a library says, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def check_sizes(directory: Path, config: PreTrainedConfig, auto: Any, weights: Path | None = None) -> None:
    """Refuse a config.json that would build what the files, or those of `weights`, cannot fill.

    Its numbers may be anything.
    """
    shapes = weight_shapes(weights or directory)
    held = sum(map(math.prod, shapes.values()))
    layers = getattr(config.get_text_config(), "num_hidden_layers", 0)
    try:
        if layers > len(shapes):
            raise ValueError(f"{layers:,} layers, and the files hold {len(shapes):,} tensors")
        described = _empty_model(config, auto).state_dict()
        if (total := sum(weight.numel() for weight in described.values())) > GENEROUS * held:
            raise ValueError(f"{total:,} weights, and the files hold {held:,}")
    except Exception as error:  # sizes that do not divide, that overflow, that are no numbers
        raise Damaged(f"{directory / 'config.json'}: describes no model of these files: {_reason(error)}") from error


def _empty_model(config: PreTrainedConfig, auto: Any) -> PreTrainedModel:
    """The model that a configuration describes, without memory for its weights."""
    with torch.device("meta"), quiet_transformers():
        model: PreTrainedModel = auto.from_config(copy.deepcopy(config))
    return model


def fitting_model(auto: Any, directory: Path) -> tuple[Any, dict[str, Any]]:
    """The model of a directory by one of transformers' Auto classes, and what it says of the loading.

    What config.json says is held against the weights first; heads may differ, layers may not.
    """
    config = read_config(directory, read_settings(directory))
    check_sizes(directory, config, auto)
    try:
        model, report = from_directory(auto, directory, config=config)
    except (RuntimeError, ValueError, KeyError, OSError, ImportError) as error:
        raise misfit(directory, config, auto, error) from error
    check_layers(directory, config, report)
    return model, report


def misfit(directory: Path, config: PreTrainedConfig, auto: Any, error: Exception) -> Damaged:
    """What is to be said where weights cannot be loaded: the first tensor of another shape than is described."""
    shapes, reason, model = weight_shapes(directory), _reason(error), _empty_model(config, auto)
    trunk = f"{model.base_model_prefix}."  # before the names of files that hold a head too
    for name, weight in model.state_dict().items():
        described = tuple(weight.shape)
        if (held := shapes.get(name, shapes.get(trunk + name, described))) != described:
            reason = f"{name} has shape {held}, and should have {described}"
            break
    return Damaged(f"{directory}: the weights do not fit config.json: {reason}")


def check_layers(directory: Path, config: PreTrainedConfig, report: dict[str, Any]) -> None:
    """Refuse weights inside layers that are left out, or that are not there; heads may differ."""
    for keys, what in (
        (report["unexpected_keys"], "the files hold {}, which it has no place for"),
        (report["missing_keys"], "the files lack {}"),
    ):
        if inside := sorted(key for key in keys if INSIDE.search(key)):
            others = f" and {len(inside) - 1} more" if len(inside) > 1 else ""
            name = f"a {config.model_type} of {config.get_text_config().num_hidden_layers} layers"
            place = what.format(f"{inside[0]}{others}")
            raise Damaged(f"{directory}: the weights do not fit config.json, {name}: {place}")


def from_directory(auto: Any, directory: Path, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The model of a directory by one of transformers' Auto classes, in float32, and what it says of the loading.

    Nothing is fetched, nothing is unpickled and no code is run. What goes wrong besides damage is the caller's to say.
    """
    try:
        with quiet_transformers():
            model, report = auto.from_pretrained(
                directory,
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
    except SafetensorError as error:
        raise Damaged(f"{directory}: the weights cannot be read: {error}") from error
    return model, report


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without transformers' bars and reports; what matters of them is said by whoever asked. One thread at a time."""
    with MAKING:
        bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
        logging.disable_progress_bar()
        logging.set_verbosity_error()
        try:
            yield
        finally:
            logging.set_verbosity(verbosity)
            if bars:
                logging.enable_progress_bar()
