"""What config.json says is held against the weights, whatever loads them; masked models are in test_load.py."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from writing_cases import sequential_model

from unmask.errors import BadInput, Damaged
from unmask.inference.vectors import load_encoder
from unmask.models.load_causal import load_causal
from unmask.models.load_spans import load_spans

Make = Callable[..., Path]
LOADERS: dict[str, tuple[Callable[..., Any], str]] = {
    "an encoder": (load_encoder, "bert"),
    "a left-to-right model": (load_causal, "gpt2"),
    "an encoder-decoder": (load_spans, "t5"),
}
SIZES = {  # what the families call their width, their layers and the width inside
    "bert": ("hidden_size", "num_hidden_layers", "intermediate_size"),
    "gpt2": ("n_embd", "n_layer", "n_inner"),
    "t5": ("d_model", "num_layers", "d_ff"),
}


@pytest.fixture(params=LOADERS)
def loading(
    request: pytest.FixtureRequest, make_model: Make, tmp_path: Path
) -> tuple[Callable[..., Any], Path, tuple[str, str, str]]:
    load, family = LOADERS[request.param]
    path = tmp_path / "model"
    if family == "bert":
        shutil.copytree(make_model(), path)
    else:
        sequential_model(make_model, path, family)
    return load, path, SIZES[family]


def change(model: Path, **settings: object) -> None:
    file = model / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


def test_a_config_that_describes_another_model_is_refused_before_memory_is_taken(
    loading: tuple[Callable[..., Any], Path, tuple[str, str, str]],
) -> None:
    load, path, (width, layers, inner) = loading
    good = (path / "config.json").read_text()
    load(path)
    given = json.loads(good)
    for settings, line in (
        ({width: 10**9}, "describes no model of these files"),
        ({width: "wide"}, "not the settings of a"),
        ({layers: 10**9}, "1,000,000,000 layers, and the files hold"),
        ({layers: given[layers] - 1}, "which it has no place for"),
        ({layers: given[layers] + 1}, "the files lack"),
        ({inner: 24}, r"weights do not fit config\.json: .* has shape .*, and should have"),
        ({"quirk": float("nan")}, "is not JSON: NaN is no number"),
    ):
        change(path, **settings)
        with pytest.raises(Damaged, match=line) as refused:
            load(path)
        assert "\n" not in str(refused.value) and str(path) in str(refused.value)
        (path / "config.json").write_text(good)


def test_what_would_have_code_run_or_is_cut_short_is_refused(
    loading: tuple[Callable[..., Any], Path, tuple[str, str, str]],
) -> None:
    load, path, _ = loading
    good = (path / "config.json").read_text()
    for settings, line in (
        ({"attn_implementation": "someone/kernel"}, "names code on the hub, which is not run"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "its weights are quantized"),
        ({"model_type": "made-yesterday"}, "its code is not part of transformers"),
    ):
        change(path, **settings)
        with pytest.raises(BadInput, match=line):
            load(path)
        (path / "config.json").write_text(good)
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(Damaged, match="weights cannot be read"):
        load(path)
