"""Shorter ways through a model's layers, where there is one for a device and the library's own layers fit it.

In: a learner. Out: the same learner and weights; layers that have no shorter way stay as they are.

    ModernBERT on a CPU           layers with fewer passes over memory: `modernbert_cpu`
    torch's attention on a CPU    as products where texts are short, weights are dropped or bfloat16 is asked for, else
                                  in float32, whatever family asks for it: `attention_products`
    dropout on a CPU              four draws of each random number: `dropout`

Products in bfloat16 take half of the time on processors that have instructions for them; torch's attention takes six
times as long (its backward pass, rows of 25 tokens), which ate up what products gain. So it is asked in float32 only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers import __version__ as transformers_version
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from unmask.models.attention import SeenMask, attend
from unmask.models.attention_products import attend_by_products, attention_dtype, takes_products
from unmask.models.dropout import replace_dropout
from unmask.progress import say

CPU_KERNELS = ("modernbert",)  # families whose layers have a shorter way on a CPU, in float32 and in bfloat16
SDPA, SDPA_ON_CPU = "sdpa", "sdpa_on_cpu"  # names by which transformers finds an attention


def use_cpu_kernels(learner: Module) -> None:
    """Let layers take the shorter way on a CPU; where they are not what it was written for, say so."""
    models = [module for module in learner.modules() if isinstance(module, PreTrainedModel)]
    if any(model.config.model_type in CPU_KERNELS for model in models):
        _use_modernbert_layers(learner)
    for model in models:
        attend_on_cpu(model)
    replace_dropout(learner)


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


def attend_on_cpu(model: PreTrainedModel) -> None:
    """Let a model that asks torch for attention have it the shorter way."""
    if model.config._attn_implementation != SDPA or model.config.model_type in CPU_KERNELS:
        return
    AttentionInterface.register(SDPA_ON_CPU, sdpa_on_cpu)
    AttentionMaskInterface.register(SDPA_ON_CPU, AttentionMaskInterface()[SDPA])
    model.set_attn_implementation(SDPA_ON_CPU)


def sdpa_on_cpu(
    module: Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Transformers' call of torch's attention, B×H×L×D to B×L×H×D: in float32, but for products in bfloat16."""
    dtype, mask = attention_dtype(), _single(attention_mask)
    with torch.autocast(query.device.type, enabled=False):
        if dtype == torch.float32:
            query, key, value = (_single(each) for each in (query, key, value))
        products: dict[str, Any] = {"dropout_p": dropout, "scale": scaling, "dtype": dtype}
        biased = others.get("position_bias") is not None
        if isinstance(mask, SeenMask) and not biased and query.shape[1] == key.shape[1]:
            return attend(mask.seen, query, key, value, **products).transpose(1, 2).contiguous(), None
        if not biased and takes_products(query, key, value, mask, dropout, dtype):
            causal = mask is None and (getattr(module, "is_causal", True) if is_causal is None else is_causal)
            states = attend_by_products(query, key, value, mask, is_causal=causal, **products)
            return states.transpose(1, 2).contiguous(), None
        query, key, value = (_single(each) for each in (query, key, value))
        options = {"dropout": dropout, "scaling": scaling, "is_causal": is_causal, **others}
        singles = {name: _single(each) for name, each in options.items()}
        return sdpa_attention_forward(module, query, key, value, mask, **singles)


def _single(value: Any) -> Any:
    """A tensor of real numbers in float32, such as T5's bias of positions; anything else as it is."""
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value
