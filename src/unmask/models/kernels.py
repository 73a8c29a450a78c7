"""Shorter ways through a model's layers, where there is one for a device and the library's own layers fit it.

In: a learner. Out: the same learner and weights; layers that have no shorter way stay as they are.

    ModernBERT on a CPU                            layers with fewer passes over memory: `modernbert_cpu`
    torch's attention in bfloat16 on a CPU         computed in float32, whatever family asks for it

Products in bfloat16 take half of the time on processors that have instructions for them; torch's attention takes six
times as long (its backward pass, rows of 25 tokens), which ate up what products gain.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers import __version__ as transformers_version
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from unmask.progress import say

CPU_KERNELS = ("modernbert",)  # families whose layers have a shorter way on a CPU, in float32 and in bfloat16
SDPA, SDPA_FLOAT32 = "sdpa", "sdpa_float32"  # names by which transformers finds an attention


def use_cpu_kernels(learner: Module, precision: str = "float32") -> None:
    """Let layers take the shorter way on a CPU; where they are not what it was written for, say so."""
    models = [module for module in learner.modules() if isinstance(module, PreTrainedModel)]
    if any(model.config.model_type in CPU_KERNELS for model in models):
        _use_modernbert_layers(learner)
    if precision == "bfloat16":
        for model in models:
            attend_in_float32(model)


def _use_modernbert_layers(learner: Module) -> None:
    try:
        from unmask.models import modernbert_cpu

        difference = modernbert_cpu.replace_layers(learner)
    except ImportError as error:  # a class has another name
        difference = str(error).partition("\n")[0]
    if difference:
        say(
            f"[yellow]transformers {transformers_version} has other ModernBERT layers than those that are written for "
            f"CPUs here ({difference}): its own are used, which take longer[/]"
        )


def attend_in_float32(model: PreTrainedModel) -> None:
    """Let a model that asks torch for attention have it in float32, whatever precision its products are in."""
    if model.config._attn_implementation != SDPA or model.config.model_type in CPU_KERNELS:
        return
    AttentionInterface.register(SDPA_FLOAT32, sdpa_in_float32)
    AttentionMaskInterface.register(SDPA_FLOAT32, AttentionMaskInterface()[SDPA])
    model.set_attn_implementation(SDPA_FLOAT32)


def sdpa_in_float32(
    module: Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Transformers' call of torch's attention, B×H×L×D to B×L×H×D, in float32."""
    with torch.autocast(query.device.type, enabled=False):
        states = (_single(tensor) for tensor in (query, key, value, attention_mask))
        return sdpa_attention_forward(module, *states, **{name: _single(each) for name, each in options.items()})


def _single(value: Any) -> Any:
    """A tensor of real numbers in float32, such as T5's bias of positions; anything else as it is."""
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value
