from __future__ import annotations

import pytest
from modernbert_cases import plain_model

from unmask.models.modernbert_shape import ModernBertShape

PLAIN = {"rope_theta": 10000.0, "rope_type": "default"}
LAYERS = ["full_attention", "sliding_attention"]


@pytest.mark.parametrize(
    "changes", [{}, {"norm_bias": True}, {"tie_word_embeddings": False}, {"decoder_bias": False}], ids=str
)
def test_the_tensors_are_those_that_transformers_has(changes: dict[str, object]) -> None:
    model = plain_model(LAYERS, **changes)
    settings = model.config.to_dict()
    shape = ModernBertShape.of(settings)
    assert shape is not None and shape.window == model.config.sliding_window
    tied = {"decoder.weight"} if settings["tie_word_embeddings"] else set()
    expected = {name: tuple(weight.shape) for name, weight in model.state_dict().items() if name not in tied}
    assert shape.tensors(settings) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "bert"},
        {"hidden_activation": "silu"},
        {"classifier_activation": "relu"},
        {"classifier_bias": True},
        {"attention_bias": True},
        {"mlp_bias": True},
        {"hidden_size": 33},
        {"hidden_size": "wide"},
        {"hidden_size": 0},
        {"vocab_size": True},
        {"layer_types": None},
        {"layer_types": ["full_attention"]},
        {"layer_types": ["full_attention", "linear_attention"]},
        {"local_attention": None},
        {"norm_eps": "small"},
        {"rope_parameters": None},
        {"rope_parameters": {"full_attention": PLAIN}},
        {"rope_parameters": {"full_attention": PLAIN, "sliding_attention": {"rope_type": "default"}}},
        {"rope_parameters": {"full_attention": PLAIN, "sliding_attention": PLAIN | {"rope_type": "yarn"}}},
    ],
    ids=str,
)
def test_what_is_computed_otherwise_has_no_shape(changes: dict[str, object]) -> None:
    settings = plain_model(LAYERS).config.to_dict()
    assert ModernBertShape.of(settings) is not None
    assert ModernBertShape.of(settings | changes) is None
