import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

from unmask.errors import BadInput, Damaged, Refused
from unmask.files import with_seal
from unmask.models.load import load_model
from unmask.runs.directory import FORMAT

Make = Callable[..., Path]


@pytest.fixture
def model(make_model: Make, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(make_model(), tmp_path / "model"))


def change(path: Path, **settings: Any) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | settings))


FAMILIES = ("bert", "roberta", "modernbert", "deberta-v2", "electra", "distilbert")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_whole_and_without_a_network(
    family: str, make_model: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_model(family)

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("asked for the network")

    capsys.readouterr()
    monkeypatch.setattr(socket.socket, "connect", no_network)
    loaded = load_model(path)
    assert not loaded.model.training
    assert loaded.vocabulary.size == loaded.model.config.vocab_size == 300
    said = capsys.readouterr()
    assert said.out == said.err == ""


def test_a_run_is_loaded_by_the_model_in_it(model: Path, tmp_path: Path) -> None:
    assert load_model(tmp_path).path == model


@pytest.mark.parametrize(("family", "length"), [("bert", 64), ("roberta", 63), ("distilbert", 64)])
def test_length_is_what_the_positions_allow(family: str, length: int, make_model: Make) -> None:
    path = make_model(family)
    loaded = load_model(path)
    assert loaded.length == length
    fits = torch.full((1, length), 9)
    loaded.model(fits)
    with pytest.raises((IndexError, RuntimeError)):
        loaded.model(torch.full((1, length + 1), 9))


def test_weights_in_half_precision_are_computed_with_in_full(model: Path) -> None:
    loaded = load_model(model)
    loaded.model.half().save_pretrained(model)
    assert load_model(model).model.dtype == torch.float32


def test_a_missing_path_a_file_and_an_empty_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"bert-base-uncased: does not exist; .*nothing is downloaded"):
        load_model(Path("bert-base-uncased"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match="is a file"):
        load_model(tmp_path / "file")
    with pytest.raises(BadInput, match="holds no model"):
        load_model(tmp_path)


def test_a_model_that_fills_no_blanks_is_refused(model: Path) -> None:
    config = AutoConfig.for_model("gpt2", n_embd=8, n_layer=1, n_head=1, vocab_size=300)
    AutoModelForCausalLM.from_config(config).save_pretrained(model)
    for permuted in (False, True):
        with pytest.raises(BadInput, match="gpt2 is not a masked language model"):
            load_model(model, permuted=permuted)


def test_an_encoder_without_its_head_is_refused_for_its_answers_would_be_random(model: Path) -> None:
    AutoModel.from_config(AutoConfig.from_pretrained(model)).save_pretrained(model)
    with pytest.raises(BadInput, match=r"its weights lack cls\.predictions\.\S+ and \d+ more"):
        load_model(model)
    (model.parent / "generator").mkdir()
    with pytest.raises(BadInput, match=r"the model that fills blanks is \S+generator"):
        load_model(model)


def test_pickled_weights_are_never_opened(model: Path) -> None:
    (model / "model.safetensors").unlink()
    with pytest.raises(BadInput, match=r"has no weights, model\.safetensors is missing"):
        load_model(model)
    (model / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(BadInput, match=r"pytorch_model\.bin: pickled weights can run code"):
        load_model(model)


def test_code_that_comes_with_a_model_is_never_run(model: Path) -> None:
    (model / "evil.py").write_text("raise SystemExit('ran')")
    change(model, model_type="evil", auto_map={"AutoConfig": "evil.Config"})
    with pytest.raises(BadInput, match="type 'evil': its code is not part of transformers"):
        load_model(model)


def test_damaged_files_are_named(model: Path) -> None:
    weights = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(Damaged, match="weights cannot be read"):
        load_model(model)
    (model / "model.safetensors").write_bytes(weights)
    change(model, hidden_size=64)
    with pytest.raises(Damaged, match=r"weights do not fit config\.json"):
        load_model(model)
    (model / "config.json").write_text("{")
    with pytest.raises(Damaged, match=r"config\.json is not JSON"):
        load_model(model)


def test_a_tokenizer_that_is_missing_or_too_large_is_refused(model: Path, make_model: Make) -> None:
    shutil.copy(make_model(kind="bpe") / "tokenizer.json", model)
    with pytest.raises(BadInput, match="the tokenizer has 500 tokens and the model 300"):
        load_model(model)
    for file in model.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(BadInput, match=r"has no tokenizer, tokenizer\.json is missing"):
        load_model(model)


def test_a_run_without_its_model_or_of_another_version_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(with_seal({"format": FORMAT, "unmask": "0.1.0"})))
    with pytest.raises(BadInput, match="has no model yet"):
        load_model(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(with_seal({"format": 99, "unmask": "9.0"})))
    with pytest.raises(Refused, match=r"made by unmask 9\.0"):
        load_model(tmp_path)
