from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from modernbert_cases import plain_model
from transformers import ModernBertForMaskedLM, ModernBertModel

from unmask.models.modernbert_rows import read_predictor
from unmask.models.rows_of_model import row_encoder, row_predictor
from unmask.models.settings import read_settings
from unmask.records import Ids, Integers

LAYERS = {
    "both kinds": ["full_attention", "sliding_attention", "full_attention"],
    "a local one last": ["full_attention", "sliding_attention"],
    "one": ["full_attention"],
    "one that is local": ["sliding_attention"],
}


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
    model = plain_model(layers).model
    encoder, rows = row_encoder(model), _rows(*lengths)
    assert encoder is not None
    expected = _by_transformers(model, rows)
    torch.testing.assert_close(encoder.states(rows), torch.cat(expected), rtol=0, atol=1e-5)
    asked: list[Integers] = [np.unique([0, len(row) // 2, len(row) - 1][: 1 + n % 3]) for n, row in enumerate(rows)]
    at = torch.cat([states[places] for states, places in zip(expected, asked, strict=True)])
    torch.testing.assert_close(encoder.states(rows, asked), at, rtol=0, atol=1e-5)


@pytest.mark.parametrize("count", [1, 5, 30])
def test_logits_are_those_of_transformers_for_few_positions_and_for_many(count: int) -> None:
    model = plain_model(LAYERS["both kinds"])
    predictor, rows = row_predictor(model), _rows(*[12] * count)
    assert predictor is not None
    with torch.no_grad():
        expected = torch.cat([model(input_ids=torch.from_numpy(row).long()[None]).logits[0, 4:5] for row in rows])
        torch.testing.assert_close(predictor.logits(rows, [np.array([4])] * count), expected, rtol=0, atol=1e-5)


def test_products_in_bfloat16_are_near_and_those_in_float32_the_same() -> None:
    predictor, rows = row_predictor(plain_model(LAYERS["both kinds"])), _rows(5, 12, 12, 150)
    assert predictor is not None
    asked = [np.array([1, 3])] * 4
    logits, rough = predictor.logits(rows, asked), predictor.in_precision(torch.bfloat16)
    assert torch.equal(predictor.in_precision(torch.float32).logits(rows, asked), logits)
    assert rough.logits(rows, asked).dtype == torch.float32 and rough.bytes_of_number == 2
    torch.testing.assert_close(rough.logits(rows, asked), logits, rtol=0, atol=0.02 * float(logits.abs().max()))
    assert predictor.bytes_of_number == 4 and torch.equal(predictor.logits(rows, asked), logits)  # it is as it was


@pytest.mark.parametrize(
    "changes", [{}, {"norm_bias": True}, {"tie_word_embeddings": False}, {"decoder_bias": False}], ids=str
)
def test_files_are_read_to_the_logits_of_the_model_that_wrote_them(changes: dict[str, object], tmp_path: Path) -> None:
    model = plain_model(LAYERS["both kinds"], **changes)
    with torch.no_grad():
        for weight in model.parameters():  # norms and biases too
            weight.add_(0.05 * torch.randn_like(weight))
    model.save_pretrained(tmp_path)
    predictor, rows = read_predictor(tmp_path, read_settings(tmp_path)), _rows(5, 5, 40)
    assert predictor is not None
    with torch.no_grad():
        expected = [model(input_ids=torch.from_numpy(row).long()[None]).logits[0, 1:3] for row in rows]
    torch.testing.assert_close(predictor.logits(rows, [np.array([1, 2])] * 3), torch.cat(expected), rtol=0, atol=1e-5)


def test_files_in_several_pieces_and_in_half_precision_are_read(tmp_path: Path) -> None:
    plain_model(LAYERS["one"]).bfloat16().save_pretrained(tmp_path, max_shard_size="20KB")
    assert not (tmp_path / "model.safetensors").exists()
    predictor, rows = read_predictor(tmp_path, read_settings(tmp_path)), _rows(7)
    assert predictor is not None
    model = ModernBertForMaskedLM.from_pretrained(tmp_path, dtype=torch.float32)
    with torch.no_grad():
        expected = model(input_ids=torch.from_numpy(rows[0]).long()[None]).logits[0, 3:4]
    torch.testing.assert_close(predictor.logits(rows, [np.array([3])]), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [{"auto_map": {}}, {"architectures": ["ModernBertModel"]}, {"vocab_size": 97}, {"num_hidden_layers": 2}],
    ids=str,
)
def test_files_that_hold_something_else_are_left_to_transformers(settings: dict[str, object], tmp_path: Path) -> None:
    plain_model(LAYERS["one"]).save_pretrained(tmp_path)
    assert read_predictor(tmp_path, read_settings(tmp_path)) is not None
    assert read_predictor(tmp_path, read_settings(tmp_path) | settings) is None


def test_tokens_that_rows_share_are_computed_once_and_come_to_the_same() -> None:
    model = plain_model(LAYERS["both kinds"]).model
    encoder, row = row_encoder(model), _rows(10)[0]
    assert encoder is not None
    rows = []
    for place in range(10):
        hidden = row.copy()
        hidden[place] = 3
        rows.append(hidden)
    torch.testing.assert_close(encoder.states(rows), torch.cat(_by_transformers(model, rows)), rtol=0, atol=1e-5)
