"""What is new learns alone: old weights stay, to the bit; stopped on the way, all of it goes on to the same weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import processes
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

import unmask
from unmask.errors import BadInput, Interrupted
from unmask.inference.sentence_layout import read_layout
from unmask.models.sentence_transformers import write_sentence_transformer
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import load_tokenizer

SENTENCE = "the myocardial tissue of patient number {} showed stenosis before the infarction and laughs again ."


@pytest.fixture(scope="module")
def bert(make_model: Callable[..., Path]) -> Path:
    return make_model("bert")


@pytest.fixture(scope="module")
def medical(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("medical")
    texts = (" ".join(SENTENCE.format(9 * n + k) for k in range(3)) for n in range(150))
    (folder / "text.txt").write_text("\n\n".join(texts))
    unmask.prepare(folder / "text.txt", out=folder / "data", tokenizer=str(bert), valid=0.1)
    return folder / "data"


def adapt(start: Path, domain: Path, out: Path, **more: Any) -> unmask.Adapted:
    settings = {"steps": 4, "warm_steps": 6, "lr": 1e-3, "length": 32, "batch_size": 4, "precision": "float32"}
    return unmask.adapt(start, domain, out=out, **{**settings, "save_seconds": 0.0, **more})


@pytest.fixture(scope="module")
def extended(bert: Path, medical: Path, tmp_path_factory: pytest.TempPathFactory) -> unmask.Adapted:
    return adapt(bert, medical, tmp_path_factory.mktemp("extended") / "run", extend=6, replay=medical, forget=9.0)


def test_new_words_are_tokens_of_the_domain_and_old_rows_stay_while_they_warm(
    extended: unmask.Adapted, bert: Path, medical: Path
) -> None:
    words = (extended.path / "extension" / "words.txt").read_text().splitlines()[1:]
    assert {line.split("\t")[0] for line in words} >= {"myocardial", "stenosis", "infarction"}
    before = load_file(bert / "model.safetensors")
    warmed = load_file(extended.path / "warming" / "model" / "model.safetensors")
    table = "bert.embeddings.word_embeddings.weight"
    size = len(before[table])
    for name, weight in before.items():
        assert torch.equal(warmed[name][: len(weight)], weight), name
    assert len(warmed[table]) == size + 6
    domain = Dataset.open(extended.path / "extension" / "domain")
    assert (domain.counts[size:] > 0).all() and len(domain.counts) == size + 6
    new = extended.new_words
    assert new is not None and new.words == 6 and new.tokens_after < 0.8 * new.tokens_before
    assert Dataset.open(medical).manifest["tokens"]["valid"] == new.tokens_before


def test_the_extended_model_loads_in_transformers_and_fills_new_words(extended: unmask.Adapted) -> None:
    tokenizer = AutoTokenizer.from_pretrained(extended.model)
    model, report = AutoModelForMaskedLM.from_pretrained(extended.model, output_loading_info=True)
    assert not report["missing_keys"] and len(tokenizer) == model.config.vocab_size
    assert tokenizer.tokenize("stenosis") == ["stenosis"]
    assert unmask.load(extended.model).fill("the [MASK] tissue", targets=["myocardial"])


def test_stopped_while_it_warms_it_goes_on_to_the_same_weights(
    extended: unmask.Adapted,
    bert: Path,
    medical: Path,
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    run = tmp_path / "run"
    with interrupted(3), pytest.raises(Interrupted, match=f"to go on: unmask adapt --resume {run}$"):
        adapt(bert, medical, run, extend=6, replay=medical, forget=9.0)
    assert not (run / "run.json").exists() and (run / "warming" / "run.json").exists()
    again = unmask.adapt(resume=run)
    assert again.weights_sha256 == extended.weights_sha256 and again.steps == 4


def test_two_processes_come_to_the_weights_of_one_through_all_stages(bert: Path, medical: Path, tmp_path: Path) -> None:
    weights = []
    for size in (1, 2):
        out = tmp_path / str(size)
        words = ["adapt", bert, medical, "--out", out, "--extend", 6, "--warm-steps", 2, "--steps", 2, "--length", 32]
        words += ["--batch-size", 8, "--lr", 1e-3, "--precision", "float32", "--reproducible", "--json"]
        done = processes.run(tmp_path / f"said-{size}", size, [str(word) for word in words])
        assert done.returncode == 0, done.stderr
        weights.append([load_file(out / part / "model.safetensors") for part in ("warming/model", "model")])
    for one, two in zip(*weights, strict=True):
        assert all(torch.equal(two[name], weight) for name, weight in one.items())


def test_an_edited_list_is_taken_and_what_cannot_be_extended_is_told(bert: Path, medical: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("stenosis\n")
    edited = adapt(bert, medical, tmp_path / "edited", extend=tmp_path / "words.txt", steps=1, warm_steps=1)
    assert edited.new_words is not None and edited.new_words.words == 1
    for extend, said in (
        (5000, "--extend 5,000: the domain has .* give at most"),
        (0, "--extend 0: give 1 or more"),
        ("lots", "--extend lots: is neither a number of words, nor auto, nor a file"),
    ):
        with pytest.raises(BadInput, match=said):
            adapt(bert, medical, tmp_path / "run", extend=extend)
    assert not (tmp_path / "run").exists()


def test_an_encoder_without_a_head_gets_one_that_learns_before_its_body_does(
    bert: Path, medical: Path, tmp_path: Path
) -> None:
    encoder = tmp_path / "encoder"
    encoder.mkdir()
    write_sentence_transformer(AutoModel.from_pretrained(bert), load_tokenizer(bert), encoder, "mean", 64)
    (tmp_path / "pairs.tsv").write_text("sentence1\tsentence2\tscore\na king\tthe king\t5\na cat\tmusic\t1\n")
    result = adapt(encoder, medical, tmp_path / "run", similarity=tmp_path / "pairs.tsv")
    before, warmed = (
        load_file(path / "model.safetensors") for path in (encoder, tmp_path / "run" / "warming" / "model")
    )
    body = {name for name in before if not name.startswith("pooler")}
    assert all(torch.equal(warmed[f"bert.{name}"], before[name]) for name in body)
    lines = [json.loads(line) for line in (tmp_path / "run" / "warming" / "metrics.jsonl").read_text().splitlines()]
    losses = [line["validation_loss"] for line in lines if "validation_loss" in line]
    assert losses[-1] < losses[0] and np.isfinite(result.after["loss"])
    _, report = AutoModelForMaskedLM.from_pretrained(result.model, output_loading_info=True)
    assert not report["missing_keys"]
    halves, scored = result.likeness  # an encoder that was tuned for sentences is measured on them, and stays one
    assert halves.measure == "domain: documents that find their other half" and halves.examples > 5
    assert scored.measure.startswith("pairs.tsv") and -1 <= scored.after.value <= 1
    assert unmask.load(result.model).embed(["a king"]).shape == (1, 32) and read_layout(result.model) is not None
    assert "tuning comes after adapting" in (result.path / "report.html").read_text()
