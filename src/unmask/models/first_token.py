"""Of a classifier that reads the first token alone, the last layer for that token alone.

In: a learner. Out: the same learner and weights. Most heads that tell labels apart read the state of the first token,
which has seen all others in the attention of the last layer; what that layer goes on to compute of the others is read
by nobody. Leaving it out takes three quarters of the products of the last layer away, forwards and backwards.
"""

from __future__ import annotations

from typing import Any

from torch.nn import Module
from transformers import PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES

from unmask.models.layers import layers_of

OUTPUT = "attention.output"  # multiplies what was attended to, and adds what the layer was given
AFTER_ATTENTION = {  # by family, the part of a layer from which on tokens no longer meet
    **dict.fromkeys(("bert", "ernie", "electra", "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert"), OUTPUT),
    **dict.fromkeys(("deberta", "deberta-v2"), OUTPUT),
    "mpnet": "attention.LayerNorm",
    "distilbert": "sa_layer_norm",
}


def leave_out_unread(learner: Module) -> None:
    """Let the last layer of every such classifier go on with the first token alone behind its attention."""
    for model in learner.modules():
        if isinstance(model, PreTrainedModel) and _reads_first_token(model):
            *before, last = layers_of(model.base_model)
            if before:  # DeBERTaV3's first layer may be followed by a convolution over all tokens
                last.get_submodule(AFTER_ATTENTION[model.config.model_type]).register_forward_pre_hook(_first_token)


def _reads_first_token(model: PreTrainedModel) -> bool:
    family = model.config.model_type
    name = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.get(family)
    return family in AFTER_ATTENTION and type(model).__name__ == name


def _first_token(_part: Module, states: tuple[Any, ...]) -> tuple[Any, ...]:
    """B×L×D to B×1×D."""
    return tuple(each[:, :1] for each in states)
