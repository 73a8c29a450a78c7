"""What is read, and how; that vectors are the stock model's is in `tests/evaluation/test_features.py`."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from unmask.errors import BadInput, Damaged
from unmask.inference import vectors as module
from unmask.inference.vectors import encoder_digest, load_encoder, row_vectors

Make = Callable[..., Path]


def test_what_stands_around_a_text_is_what_the_tokenizer_puts_there(make_model: Make, tmp_path: Path) -> None:
    bert = load_encoder(make_model())
    tokenizer = bert.tokenizer
    assert bert.around == ([tokenizer.cls_token_id], [tokenizer.sep_token_id]) and bert.room == 62
    assert load_encoder(make_model("roberta", "unigram")).around == ([0], [2])
    shutil.copytree(make_model(), tmp_path / "padded")
    file = tmp_path / "padded" / "tokenizer.json"
    settings = json.loads(file.read_text())
    settings["post_processor"] = None  # as GPT-2 has it
    strategy = {"strategy": {"Fixed": 40}, "direction": "Right", "pad_to_multiple_of": None}  # as MiniLM has it
    settings["padding"] = {**strategy, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    file.write_text(json.dumps(settings))
    bare = load_encoder(tmp_path / "padded")
    assert bare.around == ([], []) and bare.room == 64


def test_less_than_a_twentieth_of_what_is_computed_is_padding(
    make_model: Make, recorded: Callable[[Any, str], list[dict[str, Any]]]
) -> None:
    encoder, draw = load_encoder(make_model()), random.Random(0)
    lengths = [min(64, 2 + int(draw.lognormvariate(2.5, 0.7))) for _ in range(4_000)]
    calls = recorded(module, "_padded_vectors")
    read = [numbers for numbers, _ in row_vectors(encoder, [np.full(length, 7, np.int32) for length in lengths])]
    padded = sum(len(call["batch"]) * max(map(len, call["batch"])) for call in calls)
    assert sorted(np.concatenate(read).tolist()) == list(range(4_000))
    assert max(len(call["batch"]) * max(map(len, call["batch"])) for call in calls) <= module.TOKENS
    assert 1 - sum(lengths) / padded < 0.05


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_a_row_has_the_same_vectors_alone_and_beside_longer_ones(make_model: Make, family: str) -> None:
    encoder = load_encoder(make_model(family))
    rows = [np.arange(5, 5 + length, dtype=np.int32) for length in (3, 30, 0, 9)]
    together = {}
    for numbers, vectors in row_vectors(encoder, rows):
        sizes = [len(rows[number]) for number in numbers]
        together |= dict(zip(numbers.tolist(), vectors.split(sizes), strict=True))
    for number, row in enumerate(rows):
        ((_, alone),) = row_vectors(encoder, [row])
        assert len(alone) == len(row)
        torch.testing.assert_close(together[number], alone, atol=1e-5, rtol=0)


def test_the_digest_is_of_weights_settings_and_tokenizer(make_model: Make, tmp_path: Path) -> None:
    path = tmp_path / "model"
    shutil.copytree(make_model(), path)
    digests = {encoder_digest(path)}
    (path / "README.md").write_text("A note changes no vector.")
    assert encoder_digest(path) in digests
    for name in ("config.json", "tokenizer.json"):
        (path / name).write_text((path / name).read_text() + " ")
        digests.add(encoder_digest(path))
    weights = load_file(path / "model.safetensors")
    save_file({name: weight + 1 for name, weight in weights.items()}, path / "model.safetensors", {"format": "pt"})
    assert len({*digests, encoder_digest(path)}) == 4


def test_weights_that_are_not_numbers_and_an_unknown_precision_are_named(make_model: Make, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--precision int4: choose one of"):
        load_encoder(make_model(), precision="int4")
    path = tmp_path / "model"
    shutil.copytree(make_model(), path)
    weights = load_file(path / "model.safetensors")
    broken = {name: torch.full_like(weight, torch.nan) for name, weight in weights.items()}
    save_file(broken, path / "model.safetensors", {"format": "pt"})
    with pytest.raises(Damaged, match="not finite"):
        list(row_vectors(load_encoder(path), [np.array([5, 6], np.int32)]))
