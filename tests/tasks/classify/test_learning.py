"""Classification as a job: it learns, stops and goes on, is cut up at will, and loads in stock transformers."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

import unmask
from unmask.errors import BadInput, Interrupted
from unmask.files import sha256_of
from unmask.tasks.classify.classifier import start_labels
from unmask.tasks.classify.labelled import read_labelled
from unmask.tasks.classify.learning import Classifying, classifying_of
from unmask.tasks.settings import TuneSettings
from unmask.tasks.start import start_model
from unmask.training.machine.distributed import ALONE
from unmask.training.session import Session
from unmask.training.step import take_step

EPOCHS = 12


def tune(start: Path, files: dict[str, Path], out: Path, **more: Any) -> unmask.Tuned:
    settings = {"dev": files["dev"], "epochs": EPOCHS, "lr": 3e-3, "precision": "float32", "save_seconds": 0.0, **more}
    return unmask.tune("classify", start, files["train"], out=out, **settings)


def weights(run: Path) -> str:
    return sha256_of(run / "model" / "model.safetensors")


@pytest.fixture(scope="module")
def tuned(start: Path, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> unmask.Tuned:
    return tune(start, files, tmp_path_factory.mktemp("tuned") / "run")


def opened(model: Path, files: dict[str, Path], /, **settings: Any) -> Classifying:
    train, dev = (read_labelled(files[name]) for name in ("train", "dev"))
    return classifying_of(model, TuneSettings(**settings), train, dev)


def test_a_word_that_decides_the_label_is_learnt_in_seconds(tuned: unmask.Tuned) -> None:
    assert tuned.figures["accuracy"] > 0.9 and tuned.labels == ("animal", "place")
    assert tuned.train == 160 and tuned.dev == 40 and tuned.test is None and tuned.steps == 60
    lines = [json.loads(line) for line in (tuned.path / "metrics.jsonl").read_text().splitlines()]
    best = max(line["validation_accuracy"] for line in lines if "validation_accuracy" in line)
    assert tuned.figures["accuracy"] == best


def test_stopped_on_the_way_it_goes_on_to_the_same_weights(
    tuned: unmask.Tuned,
    start: Path,
    files: dict[str, Path],
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    with interrupted(7), pytest.raises(Interrupted, match="to go on: unmask tune classify --resume"):
        tune(start, files, tmp_path / "run")
    unmask.tune("classify", resume=tmp_path / "run")
    assert weights(tmp_path / "run") == weights(tuned.path)


def test_micro_batches_and_rows_of_other_lengths_change_no_loss(start: Path, files: dict[str, Path]) -> None:
    losses = []
    for micro_batch in (32, 5):
        session = Session.begin(opened(start, files, micro_batch=micro_batch).job(), 20)
        results = [take_step(session.learner, session.optimizer, session.source, step=step) for step in range(4)]
        losses.append([result.loss for result in results])
        assert results[0].predictions == 32
    assert losses[0] == pytest.approx(losses[1], rel=2e-4) and losses[0][0] == pytest.approx(losses[1][0], rel=1e-6)


def test_the_model_loads_in_stock_transformers_with_the_names_of_its_labels(
    tuned: unmask.Tuned, files: dict[str, Path]
) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(tuned.model, local_files_only=True)
    assert model.config.id2label == {0: "animal", 1: "place"}
    assert AutoTokenizer.from_pretrained(tuned.model).model_max_length == 64
    text = json.loads(files["test"].read_text().splitlines()[0])["text"]
    (answer,) = pipeline("text-classification", model=str(tuned.model), device="cpu")([text])
    (ours,) = unmask.predict(tuned.path, text)
    assert answer["label"] == ours.label == "animal"  # type: ignore[union-attr]
    assert "unmask predict" in (tuned.model / "README.md").read_text()


def test_a_text_of_29000_tokens_is_learnt_from_and_labelled_whole(
    start: Path, files: dict[str, Path], tmp_path: Path
) -> None:
    long = " ".join(["the king sees the cat again."] * 4200)
    records = [json.loads(line) for line in files["train"].read_text().splitlines()][:15]
    lines = [json.dumps(record) for record in [{"text": long, "label": "animal"}, *records]]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    more = {**files, "train": tmp_path / "train.jsonl"}
    run = tune(start, more, tmp_path / "run", epochs=1, batch_size=16)
    assert run.steps == 1
    (said,) = unmask.predict(run.path, long)
    assert isinstance(said, unmask.Predicted) and said.tokens_read >= 29_000 and said.windows > 900
    rows = opened(start, more).batches.rows
    assert rows.tokens[0] == said.tokens_read and rows.windows[0] == said.windows and rows.lengths.max() <= 64


def test_without_dev_a_tenth_is_held_out(start: Path, files: dict[str, Path], tmp_path: Path) -> None:
    run = tune(start, files, tmp_path / "run", dev=None, folds=0, epochs=1)
    assert (run.train, run.dev) == (144, 16)


def test_several_labels_are_learnt_with_a_threshold_each(start: Path, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    words = {"animal": "cat", "place": "river", "thing": "bridge"}
    for name, count in (("train", 200), ("dev", 60), ("test", 60)):
        records = []
        for _ in range(count):
            labels = [label for label in words if draw.random() < 0.4]
            text = " and ".join(["the king", *(words[label] for label in labels)])
            records.append(json.dumps({"text": text, "labels": labels}) + "\n")
        (tmp_path / f"{name}.jsonl").write_text("".join(records))
    files = {name: tmp_path / f"{name}.jsonl" for name in ("train", "dev")}
    run = tune(start, files, tmp_path / "run", test=tmp_path / "test.jsonl")
    assert run.several and run.test is not None and run.test.accuracy.value > 0.85 and run.test.confusions == ()
    both, neither = unmask.predict(run.path, "the king and cat and bridge", "the king")
    assert both.labels == ("animal", "thing") and neither.labels == ()  # type: ignore[union-attr]
    card = json.loads((run.model / "task.json").read_text())
    assert len(card["thresholds"]) == 3 and card["several"]


def test_pairs_are_learnt_and_asked_with_the_same_fields(
    start: Path, tmp_path: Path, inside: Callable[..., Any]
) -> None:
    draw = np.random.default_rng(0)

    def records(count: int) -> str:
        lines = []
        for _ in range(count):
            one, other = draw.choice(["the cat", "the river"], size=2)
            same = "same" if one == other else "other"
            lines.append(json.dumps({"premise": one, "hypothesis": other, "label": same}) + "\n")
        return "".join(lines)

    files = {name: tmp_path / f"{name}.jsonl" for name in ("train", "dev")}
    for name, count in (("train", 200), ("dev", 40)):
        files[name].write_text(records(count))
    run = tune(start, files, tmp_path / "run", epochs=3)
    done = inside("predict", run.path, files["dev"], "--json")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(said) == 40 and said[0]["pair"] and said[0]["windows"] == 1
    words = inside("predict", run.path, said[0]["text"], said[0]["pair"], "--json")
    assert json.loads(words.stdout)["probabilities"] == pytest.approx(said[0]["probabilities"])
    assert inside("predict", run.path, "one text").returncode == 3


def test_from_scratch_the_weights_are_fresh_and_from_a_run_they_are_its_own(
    start: Path, files: dict[str, Path]
) -> None:
    given = AutoModelForSequenceClassification.from_pretrained(start, num_labels=2).base_model.state_dict()
    name = "embeddings.word_embeddings.weight"
    pretrained = opened(start, files).learner().base_model.state_dict()
    scratch = opened(start, files, start="scratch").learner().base_model.state_dict()
    assert torch.equal(pretrained[name], given[name]) and not torch.equal(scratch[name], given[name])


@pytest.mark.parametrize("family", ["roberta", "modernbert", "deberta-v2", "electra", "distilbert"])
def test_every_family_has_a_head_and_can_be_measured(
    family: str, make_model: Callable[..., Path], files: dict[str, Path]
) -> None:
    classifying = opened(make_model(family), files)
    figures = classifying.held_out.measure(classifying.learner(), 300, ALONE)
    assert 0 <= figures["accuracy"] <= 1 and figures["loss"] > 0


def test_the_head_is_drawn_from_the_seed(start: Path, files: dict[str, Path]) -> None:
    heads = [opened(start, files, seed=seed).learner().classifier.weight for seed in (0, 0, 1)]  # type: ignore[union-attr]
    assert torch.equal(heads[0], heads[1]) and not torch.equal(heads[0], heads[2])


def test_a_tuned_model_is_tuned_again_with_its_head_for_the_same_labels_and_a_new_one_for_others(
    tuned: unmask.Tuned, files: dict[str, Path]
) -> None:
    same = opened(tuned.model, files)
    head = AutoModelForSequenceClassification.from_pretrained(tuned.model).classifier.weight
    assert start_labels(tuned.model) == same.labels
    assert torch.equal(same.learner().classifier.weight, head)  # type: ignore[union-attr]
    renamed = copy.deepcopy(same.config)
    renamed.id2label = {0: "yes", 1: "no"}
    other = start_model(Classifying.head, tuned.model, renamed, 0, same_labels=False)
    assert not torch.equal(other.classifier.weight, head)  # type: ignore[union-attr]
    assert torch.equal(
        other.base_model.embeddings.word_embeddings.weight,  # type: ignore[union-attr]
        same.learner().base_model.embeddings.word_embeddings.weight,  # type: ignore[union-attr]
    )


def test_what_it_cannot_do_is_told_plainly(tuned: unmask.Tuned, start: Path) -> None:
    with pytest.raises(BadInput, match="is tuned for classification and has no head that fills blanks; unmask predict"):
        unmask.fill(tuned.path, "The [MASK].")
    with pytest.raises(BadInput, match="is not tuned and knows no labels; `unmask tune classify"):
        unmask.predict(start, "A text.")
    with pytest.raises(BadInput, match=r"--lr 5\.0: give a number above 0 and below 1"):
        TuneSettings(lr=5.0)
