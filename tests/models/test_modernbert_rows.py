from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import ModernBertConfig, ModernBertForMaskedLM, ModernBertModel

from unmask.models import modernbert_rows
from unmask.models.load import load_model
from unmask.models.modernbert_rows import RowEncoder, product, row_encoder, row_predictor
from unmask.records import Ids, Integers

Make = Callable[..., Path]
LAYERS = {
    "both kinds": ["full_attention", "sliding_attention", "full_attention"],
    "a local one last": ["full_attention", "sliding_attention"],
    "one": ["full_attention"],
    "one that is local": ["sliding_attention"],
}


def _model(layers: list[str], **changes: object) -> ModernBertForMaskedLM:
    settings = {
        "vocab_size": 96,
        "hidden_size": 32,
        "num_hidden_layers": len(layers),
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "layer_types": layers,
        "local_attention": 8,
        "max_position_embeddings": 256,
        "initializer_range": 0.2,
        "pad_token_id": 0,
    }
    torch.manual_seed(0)
    config = ModernBertConfig(**settings, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, **changes)
    return ModernBertForMaskedLM._from_config(config, attn_implementation="sdpa").eval()


def _rows(*lengths: int) -> list[Ids]:
    draw = np.random.default_rng(0)
    return [draw.integers(3, 96, length).astype(np.int32) for length in lengths]


@torch.no_grad()
def _by_transformers(model: ModernBertModel, rows: list[Ids]) -> list[torch.Tensor]:
    return [model(input_ids=torch.from_numpy(row).long()[None]).last_hidden_state[0] for row in rows]


@pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("lengths", [(1,), (3, 9, 9), (5, 5, 5, 40, 200), (150,) * 3], ids=str)
def test_states_are_those_of_transformers_whatever_rows_are_read_together(
    layers: list[str], lengths: tuple[int, ...]
) -> None:
    model = _model(layers).model
    encoder, rows = row_encoder(model), _rows(*lengths)
    assert encoder is not None
    expected = _by_transformers(model, rows)
    torch.testing.assert_close(encoder.states(rows), torch.cat(expected), rtol=0, atol=1e-5)
    asked: list[Integers] = [np.unique([0, len(row) // 2, len(row) - 1][: 1 + n % 3]) for n, row in enumerate(rows)]
    at = torch.cat([states[places] for states, places in zip(expected, asked, strict=True)])
    torch.testing.assert_close(encoder.states(rows, asked), at, rtol=0, atol=1e-5)


@pytest.mark.parametrize("count", [1, 5, 30])
def test_logits_are_those_of_transformers_for_few_positions_and_for_many(count: int) -> None:
    model = _model(LAYERS["both kinds"])
    predictor, rows = row_predictor(model), _rows(*[12] * count)
    assert predictor is not None
    with torch.no_grad():
        expected = torch.cat([model(input_ids=torch.from_numpy(row).long()[None]).logits[0, 4:5] for row in rows])
        torch.testing.assert_close(predictor.logits(rows, [np.array([4])] * count), expected, rtol=0, atol=1e-5)


def test_tokens_that_rows_share_are_computed_once_and_come_to_the_same() -> None:
    model = _model(LAYERS["both kinds"]).model
    encoder, row = RowEncoder(model), _rows(10)[0]
    rows = []
    for place in range(10):
        hidden = row.copy()
        hidden[place] = 3
        rows.append(hidden)
    torch.testing.assert_close(encoder.states(rows), torch.cat(_by_transformers(model, rows)), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "changes", [{"attention_bias": True}, {"mlp_bias": True}, {"hidden_activation": "silu"}], ids=str
)
def test_a_model_that_is_not_as_is_written_here_is_left_to_transformers(changes: dict[str, object]) -> None:
    assert row_encoder(_model(LAYERS["one"], **changes).model) is None


def test_other_families_and_precisions_and_a_small_model_that_disagrees_are_left_to_transformers(
    make_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_model(make_model()).rows is None  # BERT
    assert load_model(make_model("modernbert"), precision="bfloat16").rows is None
    assert row_encoder(_model(LAYERS["one"]).model.half()) is None
    assert load_model(make_model("modernbert")).rows is not None
    monkeypatch.setattr(modernbert_rows, "_agrees", lambda: False)
    assert load_model(make_model("modernbert")).rows is None


@pytest.mark.parametrize("tokens", [1, 12, 13])
@pytest.mark.parametrize("width", [32, 33])
def test_a_product_in_pieces_is_the_product(tokens: int, width: int) -> None:
    torch.manual_seed(0)
    states, weight = torch.randn(tokens, 8), torch.randn(width, 8)
    torch.testing.assert_close(product(states, weight), states @ weight.T)
