"""Shorter ways through a model's layers, where there is one for a device and the library's own layers fit it.

In: a learner. Out: the same learner and weights; layers that have no shorter way stay as they are.
"""

from __future__ import annotations

from torch.nn import Module
from transformers import PreTrainedModel
from transformers import __version__ as transformers_version

from unmask.progress import say

CPU_KERNELS = ("modernbert",)  # families whose layers have a shorter way on a CPU, in float32 and in bfloat16


def use_cpu_kernels(learner: Module) -> None:
    """Let ModernBERT's layers take the shorter way on a CPU; where they are not what it was written for, say so."""
    models = (module for module in learner.modules() if isinstance(module, PreTrainedModel))
    if not any(model.config.model_type in CPU_KERNELS for model in models):
        return
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
