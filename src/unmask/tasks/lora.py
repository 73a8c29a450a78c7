"""LoRA: what is learnt is a product of two thin matrices beside each matrix of the layers, which stay as they are.

In: a model before its first step. Out: the same model with adapters (by peft), of which only they and the head learn;
and, when it is exported, a plain model with the adapters added to its matrices.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from unmask.errors import BadInput

FASTER = 5.0  # times the learning rate: what is learnt begins at 0, and there is little of it


def check_peft() -> None:
    """Tell in one line what is missing."""
    try:
        import peft  # noqa: F401
    except ImportError as error:
        raise BadInput("--lora: needs peft; pip install 'unmask[lora]'") from error


def add_adapters(model: PreTrainedModel, rank: int, seed: int) -> PreTrainedModel:
    """The model with adapters in its numbered layers; everything else of the encoder is frozen."""
    check_peft()
    from peft import LoraConfig, inject_adapter_in_model

    inner = "" if model.base_model is model else f"{model.base_model_prefix}."  # an encoder alone has no head
    names = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and name.startswith(inner)
        and any(part.isdecimal() for part in name.split("."))
    ]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, bias="none", target_modules=names)
        inject_adapter_in_model(config, model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lora_" in name or not name.startswith(inner))
    return model


def merged(model: PreTrainedModel) -> PreTrainedModel:
    """A copy without adapters: what they had learnt is in its matrices."""
    from peft.tuners.lora import LoraLayer

    plain = copy.deepcopy(model)
    for name, module in [*plain.named_modules()]:
        if isinstance(module, LoraLayer):
            layer: Any = module
            layer.merge()
            parent, _, child = name.rpartition(".")
            setattr(plain.get_submodule(parent), child, layer.get_base_layer())
    if hasattr(plain, "peft_config"):
        del plain.peft_config
    return plain
