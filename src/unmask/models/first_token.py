"""Of a classifier that reads the first token alone, the last layer for that token alone.

In: a learner. Out: the same learner and weights. Most heads that tell labels apart read the state of the first token.
In the last layer that token asks all others in its attention; what the others ask, and what is computed of them behind
it, is read by nobody. Leaving it out takes five sixths of the last layer's products away, forwards and backwards.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor
from torch.nn import Module
from transformers import AttentionInterface, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES

from unmask.models.kernels import SDPA, SDPA_ON_CPU
from unmask.models.layers import layers_of

LIKE_BERT = ("bert", "camembert", "electra", "ernie", "roberta", "xlm-roberta", "xlm-roberta-xl")
AFTER_ATTENTION = {  # by family, the part of a layer from which on tokens no longer meet
    **dict.fromkeys((*LIKE_BERT, "deberta", "deberta-v2"), "attention.output"),
    "mpnet": "attention.LayerNorm",
    "distilbert": "sa_layer_norm",
}


def leave_out_unread(learner: Module) -> None:
    """Let the last layer of every such classifier compute the first token alone."""
    for model in learner.modules():
        if not isinstance(model, PreTrainedModel) or not _reads_first_token(model):
            continue
        *before, last = layers_of(model.base_model)
        if before:  # DeBERTa's first layer may be followed by a convolution over all tokens
            last.get_submodule(AFTER_ATTENTION[model.config.model_type]).register_forward_pre_hook(_first_token)
            if model.config.model_type in LIKE_BERT:
                attention = last.get_submodule("attention.self")
                attention.forward = partial(attend_from_first, attention)


def _reads_first_token(model: PreTrainedModel) -> bool:
    family = model.config.model_type
    name = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.get(family)
    return family in AFTER_ATTENTION and type(model).__name__ == name


def _first_token(_part: Module, states: tuple[Any, ...]) -> tuple[Any, ...]:
    """B×L×D to B×1×D."""
    return tuple(each[:, :1] for each in states)


def attend_from_first(
    attention: Any, hidden_states: Tensor, attention_mask: Tensor | None = None, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """The self-attention of BERT and its kind for the first token: B×L×D to B×1×D.

    Where another attention than torch's is asked for, its masks may be others: it attends from everywhere.
    """
    name = attention.config._attn_implementation
    if name not in (SDPA, SDPA_ON_CPU):
        whole: tuple[Tensor, Tensor | None] = type(attention).forward(
            attention, hidden_states, attention_mask, **options
        )
        return whole
    first = hidden_states[:, :1]
    parts = ((attention.query, first), (attention.key, hidden_states), (attention.value, hidden_states))
    heads = (part(states).unflatten(-1, (-1, attention.attention_head_size)).transpose(1, 2) for part, states in parts)
    states, weights = AttentionInterface()[name](
        attention,
        *heads,
        None if attention_mask is None else attention_mask[:, :, :1],
        dropout=attention.dropout.p if attention.training else 0.0,
        scaling=attention.scaling,
        **options,
    )
    return states.flatten(2), weights
