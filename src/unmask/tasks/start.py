"""What a tuning starts from: any encoder of transformers, ours or not, tuned before or not.

In: a model directory and the kind of head that a task needs. Out: its configuration, and a model with its weights.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from unmask.errors import BadInput, Damaged
from unmask.files import json_digest, sha256_of
from unmask.models.config import from_directory, quiet_transformers
from unmask.models.weights import weight_files


@dataclass(frozen=True)
class HeadKind:
    """A kind of head: the class of transformers that puts it on an encoder, and the types of encoder it knows."""

    auto: Any  # AutoModelForSequenceClassification, say
    configs: Any  # MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING, say
    noun: str  # what a model with such a head is


def start_config(directory: Path, head: HeadKind) -> PreTrainedConfig:
    """The configuration of a model that can be given such a head."""
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except (ValueError, KeyError, OSError) as error:
        raise BadInput(f"{directory}: cannot load a model of a type that is not part of transformers") from error
    if type(config) not in head.configs:
        raise BadInput(f"{directory}: transformers has no {head.noun} for {config.model_type}; give another model")
    return config


def weights_digest(directory: Path) -> str:
    """The SHA-256 of a model's weights, or of those of its shards."""
    digests = [sha256_of(file) for file in weight_files(directory)]
    return digests[0] if len(digests) == 1 else json_digest(digests)


def draw_model(head: HeadKind, config: PreTrainedConfig, seed: int) -> PreTrainedModel:
    """A model with fresh weights."""
    with torch.random.fork_rng(), quiet_transformers():
        torch.manual_seed(seed)
        model: PreTrainedModel = head.auto.from_config(copy.deepcopy(config))
    return model


def start_model(
    head: HeadKind, directory: Path, config: PreTrainedConfig, seed: int, *, same_labels: bool
) -> PreTrainedModel:
    """A model with the weights of a directory, and a head that is drawn from the seed.

    A head that knows the same labels already goes on; that of other labels does not.
    """
    drawn = draw_model(head, config, seed)
    options = {"config": copy.deepcopy(config), "ignore_mismatched_sizes": True}
    try:
        with torch.random.fork_rng():
            model, report = from_directory(head.auto, directory, **options)
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise Damaged(f"{directory}: the weights do not fit config.json: {reason}") from error
    missing = set(report["missing_keys"])
    if lacking := sorted(name for name in missing if _is_encoder(name, model)):
        raise BadInput(f"{directory}: its weights lack {lacking[0]}; it is not a whole encoder")
    names = missing if same_labels else missing | _head_names(head, drawn)
    weights = dict(drawn.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in names:
                parameter.copy_(weights[name])
    whole: PreTrainedModel = model
    return whole


def _is_encoder(name: str, model: PreTrainedModel) -> bool:
    inside = model.base_model is model or name.startswith(f"{model.base_model_prefix}.")  # an encoder has no head
    return inside and "pooler" not in name


def _head_names(head: HeadKind, drawn: PreTrainedModel) -> set[str]:
    """The weights whose size hangs on the number of labels."""
    config = copy.deepcopy(drawn.config)
    config.num_labels = (config.num_labels or 0) + 1
    with torch.device("meta"), quiet_transformers():
        other = dict(head.auto.from_config(config).named_parameters())
    return {name for name, parameter in drawn.named_parameters() if parameter.shape != other[name].shape}
