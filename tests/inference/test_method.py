from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoConfig
from writing_cases import as_run, sequential_model

import unmask
from unmask.errors import BadInput, Damaged
from unmask.inference.method import method_of
from unmask.models.load_causal import load_causal
from unmask.models.load_spans import load_spans

Make = Callable[..., Path]


def test_a_masked_model_is_a_diffusion_model_if_its_run_says_so(make_model: Make, tmp_path: Path) -> None:
    assert method_of(make_model()) == "masked"
    assert method_of(as_run(make_model(), tmp_path / "mlm", "mlm") / "model") == "masked"
    run = as_run(make_model(), tmp_path / "diffusion", "mlm until 0.5; diffusion")
    assert method_of(run / "model") == "diffusion"
    shutil.copytree(run / "model", tmp_path / "elsewhere")
    assert method_of(tmp_path / "elsewhere") == "masked"  # nothing tells what it was trained for


def test_a_run_of_the_recipe_diffusion_is_recognised(data: Path, tmp_path: Path) -> None:
    unmask.pretrain(data, out=tmp_path / "run", recipe="diffusion-tiny", steps=1)
    (result,) = unmask.generate(tmp_path / "run", prefix="The king", length=5)
    assert result.method == "diffusion"
    assert result.text.startswith("The king")


@pytest.mark.parametrize(("family", "method"), [("gpt2", "causal"), ("t5", "spans")])
def test_models_that_write_from_left_to_right_are_known_by_their_kind(
    family: str, method: str, make_model: Make, tmp_path: Path
) -> None:
    path = sequential_model(make_model, tmp_path / "model", family)
    assert method_of(path) == method
    writer = load_spans(path) if method == "spans" else load_causal(path)
    assert len(writer.vocabulary.sentinels) == (4 if family == "t5" else 0)
    assert writer.length == (None if family == "t5" else 64)
    assert writer.tokenizer.convert_ids_to_tokens(writer.vocabulary.end) == "[SEP]"


def test_models_that_cannot_write_are_named(make_model: Make, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="trained from left to right by a mask"):
        method_of(as_run(make_model(), tmp_path / "run", "causal") / "model")
    path = tmp_path / "xlnet"
    AutoConfig.for_model("xlnet").save_pretrained(path)
    with pytest.raises(BadInput, match="nothing here writes with xlnet"):
        method_of(path)
    (path / "config.json").write_text(json.dumps({"model_type": "nonsense"}), encoding="utf-8")
    with pytest.raises(BadInput, match="its code is not part of transformers"):
        method_of(path)
    (path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(Damaged, match="is not JSON"):
        method_of(path)
