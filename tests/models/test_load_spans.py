from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from writing_cases import sequential_model

from unmask.errors import BadInput, Damaged
from unmask.models.load_spans import load_spans
from unmask.models.settings import model_type

Make = Callable[..., Path]


def test_a_t5_is_loaded_with_its_sentinels_in_their_order(make_model: Make, tmp_path: Path) -> None:
    path = sequential_model(make_model, tmp_path / "model", "t5")
    assert model_type(path) == "t5"
    loaded = load_spans(path)
    names = loaded.tokenizer.convert_ids_to_tokens(list(loaded.vocabulary.sentinels))
    assert names == [f"<extra_id_{number}>" for number in range(4)]
    assert set(loaded.vocabulary.sentinels) <= set(loaded.vocabulary.special)
    assert loaded.length is None


def test_a_tokenizer_without_sentinels_is_refused(make_model: Make) -> None:
    with pytest.raises(BadInput, match="has no <extra_id_0>"):
        load_spans(make_model())


def test_weights_that_are_cut_off_are_damage(make_model: Make, tmp_path: Path) -> None:
    path = sequential_model(make_model, tmp_path / "model", "t5")
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(Damaged):
        load_spans(path)
