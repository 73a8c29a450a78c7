"""Few labels are learnt in every way on every draw, once; what was chosen was chosen on dev."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput, Refused

Run = Callable[..., subprocess.CompletedProcess[str]]
SETTINGS = {"few": 8, "draws": 2, "epochs": 12, "lr": 1e-3, "precision": "float32"}


@pytest.fixture(scope="module")
def learnt(start: Path, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> unmask.FewTuned:
    out = tmp_path_factory.mktemp("few") / "run"
    result = unmask.tune("classify", start, files["train"], test=files["test"], out=out, **SETTINGS)  # type: ignore
    assert isinstance(result, unmask.FewTuned)
    return result


def test_three_ways_are_judged_on_the_same_test_texts_over_the_same_draws(learnt: unmask.FewTuned) -> None:
    assert [method.name for method in learnt.methods] == ["head", "pairs", "patterns"]
    assert learnt.test_examples == 60 and learnt.few == 8
    for method in learnt.methods:
        assert [draw.draw for draw in method.draws] == [1, 2]
        accuracies = [draw.accuracy for draw in method.draws]
        assert method.accuracy is not None and method.accuracy.value == pytest.approx(sum(accuracies) / 2)  # type: ignore
        assert method.accuracy.low <= method.accuracy.value <= method.accuracy.high
        assert method.dev == pytest.approx(sum(draw.dev for draw in method.draws) / 2)
    assert max(method.accuracy.value for method in learnt.methods if method.accuracy) > 0.7


def test_the_model_is_that_of_the_best_way_on_dev_and_says_what_was_measured(
    learnt: unmask.FewTuned, files: dict[str, Path]
) -> None:
    best = max(learnt.methods, key=lambda method: method.dev)
    assert best.dev == next(method.dev for method in learnt.methods if method.name == learnt.best)
    kept = next(method for method in learnt.methods if method.name == learnt.best).draws[learnt.draw - 1]
    records = [json.loads(line) for line in files["test"].read_text().splitlines()]
    said = unmask.predict(learnt.path, *(record["text"] for record in records))
    right = [each.label == record["label"] for each, record in zip(said, records, strict=True)]  # type: ignore
    assert sum(right) / len(right) == pytest.approx(kept.accuracy)
    assert json.loads((learnt.path / "tuned.json").read_text())["best"] == learnt.best


@pytest.mark.parametrize("method", ["head", "pairs", "patterns"])
def test_the_model_of_every_way_answers_loads_in_transformers_and_is_explained(
    learnt: unmask.FewTuned, method: str
) -> None:
    from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification

    run = learnt.path / "draws" / f"{method}-1"
    autos = {"head": AutoModelForSequenceClassification, "pairs": AutoModel, "patterns": AutoModelForMaskedLM}
    _, report = autos[method].from_pretrained(run / "model", output_loading_info=True)
    assert not report["missing_keys"]
    (said,) = unmask.predict(run, "nobody likes the dog in winter.")
    assert isinstance(said, unmask.Predicted) and said.windows == 1
    assert method == "head" or json.loads((run / "model" / "task.json").read_text())["temperature"] >= 1
    assert sum(said.probabilities.values()) == pytest.approx(1)
    (long,) = unmask.predict(run, "the dog sees the dog. " * 60)
    assert long.windows > 1  # type: ignore[union-attr]
    explained = unmask.load(run).explain("nobody likes the dog.", changes=0)
    assert isinstance(explained, unmask.ExplainedLabel) and explained.method == "replaced"


def test_a_draw_that_is_done_is_not_done_again(learnt: unmask.FewTuned, tmp_path: Path) -> None:
    out = Path(shutil.copytree(learnt.path, tmp_path / "run"))
    lost = out / "draws" / "pairs-2.json"
    before = json.loads(lost.read_text())
    lost.unlink()
    shutil.rmtree(out / "draws" / "pairs-2")
    kept = {file.name: file.stat().st_mtime_ns for file in (out / "draws").glob("*.json")}
    again = unmask.tune("classify", resume=out)
    assert isinstance(again, unmask.FewTuned) and len(kept) == 5
    after = {file.name: file.stat().st_mtime_ns for file in (out / "draws").glob("*.json")}
    assert {name: after[name] for name in kept} == kept
    assert json.loads(lost.read_text()) == {**before, "seconds": pytest.approx(before["seconds"], abs=1e3)}
    assert not (out / "draws" / "pairs-2" / "checkpoints").exists()
    with pytest.raises(Refused, match="--few: the run has 8, asked for 4"):
        unmask.tune("classify", resume=out, few=4)


def test_a_model_without_a_mask_head_goes_the_other_two_ways_and_is_told_so(
    learnt: unmask.FewTuned, files: dict[str, Path], inside: Run, tmp_path: Path
) -> None:
    words = ("--few", 4, "--draws", 2, "--epochs", 1, "--precision", "float32", "--out", tmp_path / "run")
    done = inside("tune", "classify", learnt.path / "draws" / "head-1", files["train"], *words)
    assert done.returncode == 0
    said = " ".join((done.stderr + done.stdout).split())
    assert "no patterns, for the model has no mask head that fills them" in said
    assert "learnt as head, pairs" in said and "No --test" in said
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80


def test_what_cannot_be_drawn_or_said_is_told_in_one_line(
    start: Path, files: dict[str, Path], inside: Run, tmp_path: Path
) -> None:
    def told(train: Path, *words: object) -> str:
        done = inside("tune", "classify", start, train, "--out", tmp_path / "run", *words)
        assert done.returncode == 3 and len(done.stderr.splitlines()) == 1 and not done.stdout
        assert not (tmp_path / "run").exists()
        return done.stderr

    assert "the label 'animal' has 80 examples, and --few 50 takes 50" in told(files["train"], "--few", 50)
    assert "--few 0: give 1 or more" in told(files["train"], "--few", 0)
    assert "--draws 1: give 2 or more" in told(files["train"], "--few", 4, "--draws", 1)
    assert "leave --lora out" in told(files["train"], "--few", 4, "--lora", 8)
    assert "give --few 16 with them" in told(files["train"], "--draws", 3)
    assert "take the place of several rates" in told(files["train"], "--few", 4, "--seeds", 2)
    numbers = tmp_path / "numbers.jsonl"
    records = [json.loads(line) for line in files["train"].read_text().splitlines()]
    for record in records:
        record["label"] = int(record["label"] == "animal")
    numbers.write_text("".join(json.dumps(record) + "\n" for record in records))
    line = told(numbers, "--few", 4)
    assert "the labels '0', '1' are no words that could fill a blank; --patterns FILE says" in line
    for record in records:
        record["label"] = [str(record["label"])]
    numbers.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert "has lists of labels" in told(numbers, "--few", 4)

    for number, record in enumerate(records):
        record |= {"label": ("animal", "place")[number % 2], "author": str(number % 7)}
    numbers.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert "groups would be torn apart" in told(numbers, "--few", 4, "--group-field", "author")


def test_it_is_not_shared_out(
    start: Path, files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("WORLD_SIZE", "2"), ("RANK", "0"), ("LOCAL_RANK", "0")):
        monkeypatch.setenv(name, value)
    with pytest.raises(BadInput, match="start it without torchrun"):
        unmask.tune("classify", start, files["train"], out=tmp_path / "run", few=4)


def test_pairs_of_texts_are_learnt_in_all_three_ways_with_patterns_of_one_s_own(start: Path, tmp_path: Path) -> None:
    records = [
        {"premise": f"the king {verb} music.", "hypothesis": f"the {word} again.", "label": label}
        for word, label in (("cat", 1), ("river", 0))
        for verb in ("sees", "likes", "paints", "wants", "builds", "hears")
    ]
    for name, lines in (
        ("train", records),
        ("patterns", [{"pattern": "{pair} [MASK] {text}"}, {"verbalisers": {"1": ["dog", "king"], "0": "sea"}}]),
    ):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = {"dev": tmp_path / "train.jsonl", "patterns": tmp_path / "patterns.jsonl", "out": tmp_path / "run"}
    settings = {"few": 3, "draws": 2, "epochs": 1, "precision": "float32", "sets": 0.5}
    result = unmask.tune("classify", start, tmp_path / "train.jsonl", **files, **settings)  # type: ignore[arg-type]
    assert isinstance(result, unmask.FewTuned) and result.patterns == ("{pair} [MASK] {text}",)
    for method in ("head", "pairs", "patterns"):
        run = tmp_path / "run" / "draws" / f"{method}-2"
        (said,) = unmask.predict(run, "the king sees music.", "the cat again.")
        assert isinstance(said, unmask.Predicted) and said.pair == "the cat again." and said.label_set
