"""Exports say what their model says, and run without torch by the code of their README."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

import unmask
from unmask.errors import BadInput, Refused
from unmask.inference.export import parity
from unmask.inference.export.session import OnnxSession

Make = Callable[..., Path]
TEXTS = [f"{who} sees {what} every day." for who in ("the king", "my sister", "Paris") for what in ("music", "the sea")]
LIGHT = ("numpy", "numpy.libs", "onnxruntime", "tokenizers", "huggingface_hub", "flatbuffers", "google")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("texts") / "texts.txt"
    file.write_text("\n".join(TEXTS * 4))
    return file


@pytest.fixture(scope="module")
def vectors(make_model: Make, texts: Path, tmp_path_factory: pytest.TempPathFactory) -> unmask.Exported:
    out = tmp_path_factory.mktemp("exports") / "vectors"
    return unmask.export(make_model("bert"), to="onnx", out=out, texts=texts)


@pytest.fixture(scope="module")
def fills(make_model: Make, texts: Path, tmp_path_factory: pytest.TempPathFactory) -> unmask.Exported:
    out = tmp_path_factory.mktemp("exports") / "fills"
    return unmask.export(make_model("modernbert"), to="onnx", out=out, output="fills", texts=texts)


def test_vectors_of_a_graph_are_means_of_length_1_whatever_the_rows(vectors: unmask.Exported, make_model: Make) -> None:
    assert vectors.cosine is not None and vectors.cosine >= parity.COSINE
    model, tokenizer = AutoModel.from_pretrained(make_model()).eval(), AutoTokenizer.from_pretrained(make_model())
    session = OnnxSession(vectors.path / "model.onnx", tokenizer.pad_token_id)
    for rows in (TEXTS, TEXTS[:1], [TEXTS[0] * 3, "a"]):
        inputs = tokenizer(rows, return_tensors="pt", padding=True)
        with torch.no_grad():
            states = model(**inputs).last_hidden_state
        real = inputs["attention_mask"][:, :, None]
        expected = torch.nn.functional.normalize((states * real).sum(1) / real.sum(1), dim=-1)
        ids = [np.array(row, np.int32) for row in tokenizer(rows)["input_ids"]]
        np.testing.assert_allclose(session.vectors(ids), expected.numpy(), atol=1e-5)


def test_fills_of_a_graph_are_the_logits_of_the_model_where_they_are_asked_for(
    fills: unmask.Exported, make_model: Make
) -> None:
    assert fills.same_fills == 1.0
    path = make_model("modernbert")
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)
    session = OnnxSession(fills.path / "model.onnx", tokenizer.pad_token_id)
    ids = [np.array(row, np.int32) for row in tokenizer(TEXTS[:3])["input_ids"]]
    positions = np.array([[1, 4], [2, 2], [3, 1]])
    logits = session.logits(ids, positions)
    for row, places, given in zip(ids, positions, logits, strict=True):
        with torch.no_grad():
            expected = model(torch.from_numpy(row).long()[None]).logits[0, places]
        np.testing.assert_allclose(given, expected.numpy(), atol=1e-4)


@pytest.mark.parametrize("kind", ["vectors", "fills"])
def test_the_code_of_the_readme_runs_where_there_is_no_torch(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    exported: unmask.Exported = request.getfixturevalue(kind)
    spec = find_spec("numpy")
    assert spec is not None and spec.origin is not None
    packages = Path(spec.origin).parent.parent
    for name in LIGHT:
        if (packages / name).exists():
            (tmp_path / name).symlink_to(packages / name)
    found = re.search(r"```python\n(.*?)```", (exported.path / "README.md").read_text(), re.S)
    assert found is not None
    check = "import importlib.util as u; assert not u.find_spec('torch') and not u.find_spec('transformers')\n"
    done = subprocess.run(
        [sys.executable, "-S", "-c", check + found[1]],
        cwd=exported.path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == {"vectors": 1, "fills": 5}[kind]


def test_an_export_says_how_it_was_measured(vectors: unmask.Exported) -> None:
    figures = json.loads((vectors.path / "export.json").read_text())
    assert figures["texts"] == vectors.texts == 24
    assert figures["cosine"] == vectors.cosine
    assert vectors.speed is not None and vectors.speed > 0
    assert vectors.bytes == sum(each.stat().st_size for each in vectors.path.rglob("*") if each.is_file())


def test_8_bits_are_smaller_and_written_only_through_their_gate(
    make_model: Make, texts: Path, vectors: unmask.Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"to": "int8", "texts": texts}
    exported = unmask.export(make_model("bert"), out=tmp_path / "small", **settings)
    assert exported.cosine is not None and parity.INT8_COSINE <= exported.cosine < 1
    assert (exported.path / "model.onnx").stat().st_size < (vectors.path / "model.onnx").stat().st_size
    monkeypatch.setattr(parity, "INT8_COSINE", 1.5)
    with pytest.raises(Refused, match="not exported: the mean cosine of 24 texts"):
        unmask.export(make_model("bert"), out=tmp_path / "refused", **settings)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small"]


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_sentence_transformers_loads_the_same_vectors(pooling: str, make_model: Make, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    path = make_model("bert")
    unmask.export(path, to="sentence-transformers", out=tmp_path / "st", pooling=pooling)  # type: ignore[arg-type]
    model, tokenizer = AutoModel.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)
    stock = SentenceTransformer(str(tmp_path / "st"), device="cpu")
    for text, vector in zip(TEXTS, stock.encode(TEXTS), strict=True):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        expected = states[0] if pooling == "first" else states.mean(0)
        np.testing.assert_allclose(vector, (expected / expected.norm()).numpy(), atol=1e-5)
    assert stock.max_seq_length == 64


def test_what_cannot_be_exported_is_told_before_the_work(make_model: Make, texts: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="is there already"):
        unmask.export(make_model(), to="onnx", out=tmp_path, texts=texts)
    with pytest.raises(BadInput, match="is no run; give --texts"):
        unmask.export(make_model(), to="onnx", out=tmp_path / "out")
    with pytest.raises(BadInput, match="sentence-transformers has vectors alone"):
        unmask.export(make_model(), to="sentence-transformers", out=tmp_path / "out", output="fills")
    (tmp_path / "short.txt").write_text("a\n")
    with pytest.raises(BadInput, match="no text to compare on"):
        unmask.export(make_model(), to="onnx", out=tmp_path / "out", texts=tmp_path / "short.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["short.txt"]


def test_a_missing_extra_is_one_line_with_its_remedy(
    inside: Callable[..., subprocess.CompletedProcess[str]],
    make_model: Make,
    texts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    done = inside("export", make_model(), "--to", "onnx", "--out", tmp_path / "out", "--texts", texts)
    assert done.returncode == 3
    assert done.stderr == "unmask: --to onnx needs onnxscript: pip install 'unmask[onnx]'\n"
    assert not (tmp_path / "out").exists()
