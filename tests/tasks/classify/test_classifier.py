"""What `predict` says of a text is what was measured."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput, Damaged
from unmask.evaluation.tuned.classify import ask_examples
from unmask.tasks.classify.calibration import decide, macro_f1
from unmask.tasks.classify.classifier import Classifier, read_classify_card, targets_of
from unmask.tasks.classify.labelled import read_labelled


@pytest.fixture(scope="module")
def tuned(start: Path, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> unmask.Tuned:
    out = tmp_path_factory.mktemp("tuned") / "run"
    settings = {"dev": files["dev"], "test": files["test"], "epochs": 4, "lr": 3e-4, "precision": "float32"}
    return unmask.tune("classify", start, files["train"], out=out, **settings)  # type: ignore[arg-type]


def test_predict_says_what_the_evaluation_measured(tuned: unmask.Tuned, files: dict[str, Path], tmp_path: Path) -> None:
    examples = read_labelled(files["test"])
    measured = ask_examples(Classifier(tuned.path), examples)
    (written,) = unmask.predict(tuned.path, str(files["test"]), out=tmp_path / "out.jsonl")
    assert isinstance(written, unmask.Written) and written.lines == 60
    said = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [each["text"] for each in said] == [example.text for example in examples.examples]
    shares = np.array([[each["probabilities"][label] for label in tuned.labels] for each in said])
    assert np.abs(shares - measured).max() < 1e-6
    true = targets_of([example.labels for example in examples.examples], tuned.labels) > 0
    right = np.mean([each["label"] == example.labels[0] for each, example in zip(said, examples.examples, strict=True)])
    assert tuned.test is not None
    assert right == pytest.approx(tuned.test.accuracy.value)
    assert macro_f1(decide(shares, None), true) == pytest.approx(tuned.test.macro_f1.value)


def test_a_model_measured_on_dev_while_it_trained_says_the_same_there(
    tuned: unmask.Tuned, files: dict[str, Path]
) -> None:
    examples = read_labelled(files["dev"])
    said = unmask.predict(tuned.path, *(example.text for example in examples.examples))
    right = np.mean([each.label == e.labels[0] for each, e in zip(said, examples.examples, strict=True)])  # type: ignore
    assert right == pytest.approx(tuned.figures["accuracy"])


def test_a_text_is_labelled_alike_alone_and_among_others(tuned: unmask.Tuned) -> None:
    texts = ("the cat again.", "the river " * 60, "nobody likes the dog in winter.")
    together = unmask.predict(tuned.path, *texts)
    for text, among in zip(texts, together, strict=True):
        (alone,) = unmask.predict(tuned.path, text)
        assert alone.probabilities == pytest.approx(among.probabilities, abs=1e-5)  # type: ignore[union-attr]
    assert together[1].windows > 1  # type: ignore[union-attr]


def test_an_empty_text_is_told_and_a_table_is_read(tuned: unmask.Tuned, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="an empty text has no answer"):
        unmask.load(tuned.path).predict(" ")
    texts = ["nobody likes, or loves, the cat", "the river\nagain"]
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *enumerate(texts)])
    said = unmask.predict(tuned.path, str(tmp_path / "new.csv"))
    assert [each.text for each in said] == texts  # type: ignore[union-attr]
    assert said == unmask.load(tuned.path).predict(*texts)
    (tmp_path / "ragged.tsv").write_text("text\tid\na\n")
    with pytest.raises(BadInput, match=r"ragged\.tsv:2: has 1 columns, the first line 2"):
        unmask.predict(tuned.path, str(tmp_path / "ragged.tsv"))


def test_sets_are_kept_with_the_model_and_covered_on_test(start: Path, files: dict[str, Path], tmp_path: Path) -> None:
    places = {"dev": files["dev"], "test": files["test"]}
    tuned = unmask.tune("classify", start, files["train"], out=tmp_path / "run", sets=0.9, epochs=1, **places)
    assert tuned.test is not None and tuned.test.set_coverage is not None and tuned.test.set_size is not None
    assert tuned.test.set_coverage.value >= 0.8 and 1 <= tuned.test.set_size <= 2
    (said,) = unmask.load(tuned.path).predict("nobody likes the cat")
    assert said.label_set is not None and said.label in said.label_set


def test_a_changed_card_is_damage(tuned: unmask.Tuned, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(tuned.model, tmp_path / "model"))
    (copied / "task.json").write_text("{}")
    with pytest.raises(Damaged, match=r"task\.json: cannot be read"):
        read_classify_card(copied)
