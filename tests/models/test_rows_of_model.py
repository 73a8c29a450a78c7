from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from modernbert_cases import plain_model

from unmask.models import rows_of_model
from unmask.models.load import LoadedModel, load_model
from unmask.models.rows_of_model import row_encoder

Make = Callable[..., Path]


@pytest.mark.parametrize(
    "changes", [{"attention_bias": True}, {"mlp_bias": True}, {"hidden_activation": "silu"}], ids=str
)
def test_a_model_that_is_not_as_is_written_here_is_left_to_transformers(changes: dict[str, object]) -> None:
    assert row_encoder(plain_model(["full_attention"], **changes).model) is None


def test_other_families_and_precisions_and_a_small_model_that_disagrees_are_left_to_transformers(
    make_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_model(make_model()).rows is None  # BERT
    assert load_model(make_model("modernbert"), precision="float16").rows is None
    halved = load_model(make_model("modernbert"), precision="bfloat16").rows
    assert halved is not None and halved.bytes_of_number == 2
    assert row_encoder(plain_model(["full_attention"]).model.half()) is None
    read = load_model(make_model("modernbert"))
    assert read.rows is not None
    ours = LoadedModel.of(read.path, read.model, read.tokenizer, read.vocabulary, read.length)
    assert ours.rows is not None
    monkeypatch.setattr(rows_of_model, "_agrees", lambda: False)
    assert LoadedModel.of(read.path, read.model, read.tokenizer, read.vocabulary, read.length).rows is None
