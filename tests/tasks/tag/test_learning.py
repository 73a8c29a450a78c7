"""Finding entities as a job: it learns, stops and goes on, is cut up at will, and loads in stock transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForTokenClassification, pipeline

import unmask
from unmask.errors import BadInput, Interrupted
from unmask.files import sha256_of
from unmask.tasks.settings import TuneSettings
from unmask.tasks.tag.learning import TagTuning, tagging_of
from unmask.tasks.tag.schemes import lenient_spans, strict_spans
from unmask.tasks.tag.tagged import read_tagged
from unmask.tasks.tag.tagger import Tagger
from unmask.training.machine.distributed import ALONE
from unmask.training.session import Session
from unmask.training.step import take_step


def opened(model: Path, files: dict[str, Path], /, **settings: Any) -> TagTuning:
    train, dev = (read_tagged(files[name]) for name in ("train", "dev"))
    return tagging_of(model, TuneSettings(**settings), train, dev)


def test_a_few_names_are_learnt_in_seconds(tagger_run: unmask.Tuned) -> None:
    assert tagger_run.figures["f1"] > 0.9 and tagger_run.labels == ("LOC", "PER") and tagger_run.task == "tag"
    assert (tagger_run.train, tagger_run.dev, tagger_run.steps) == (160, 40, 60)
    assert isinstance(tagger_run.test, unmask.JudgedTags) and tagger_run.test.f1.value > 0.9
    lines = [json.loads(line) for line in (tagger_run.path / "metrics.jsonl").read_text().splitlines()]
    assert tagger_run.figures["f1"] == max(line["validation_f1"] for line in lines if "validation_f1" in line)


def test_stopped_on_the_way_it_goes_on_to_the_same_weights(
    start: Path,
    tagged_files: dict[str, Path],
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    settings: dict[str, Any] = {"dev": tagged_files["dev"], "epochs": 2, "precision": "float32", "save_seconds": 0.0}
    with interrupted(4), pytest.raises(Interrupted, match="to go on: unmask tune tag --resume"):
        unmask.tune("tag", start, tagged_files["train"], out=tmp_path / "run", **settings)
    unmask.tune("tag", resume=tmp_path / "run")
    unmask.tune("tag", start, tagged_files["train"], out=tmp_path / "whole", **settings)
    one, other = (sha256_of(tmp_path / name / "model" / "model.safetensors") for name in ("run", "whole"))
    assert one == other


def test_micro_batches_change_no_loss(start: Path, tagged_files: dict[str, Path]) -> None:
    losses = []
    for micro_batch in (32, 5):
        session = Session.begin(opened(start, tagged_files, micro_batch=micro_batch).job(), 20)
        results = [take_step(session.learner, session.optimizer, session.source, step=step) for step in range(3)]
        losses.append([result.loss for result in results])
    assert losses[0] == pytest.approx(losses[1], rel=2e-4) and losses[0][0] == pytest.approx(losses[1][0], rel=1e-6)


def test_stock_transformers_finds_the_same_entities_in_short_texts_where_tags_are_well_formed(
    tagger_run: unmask.Tuned, tagged_files: dict[str, Path]
) -> None:
    stock = pipeline("token-classification", model=str(tagger_run.model), aggregation_strategy="first", device="cpu")
    assert stock.model.config.id2label[1] == "B-LOC"
    texts = [each.text for each in read_tagged(tagged_files["test"]).examples]
    tagger = Tagger(tagger_run.path)
    compared = 0
    for text, ours in zip(texts, tagger.tag(tagger.read(texts)), strict=True):
        alone = [tagger.decoder.tags[number] for number in ours.probabilities.argmax(1)]
        if strict_spans(alone) != lenient_spans(alone):
            continue  # the pipeline takes each tag for itself
        theirs = [(each["start"], each["end"], each["entity_group"]) for each in stock(text)]
        assert theirs == [tuple(span) for span in ours.spans]
        compared += 1
    assert compared >= 45
    assert "unmask predict" in (tagger_run.model / "README.md").read_text()


def test_an_entity_at_token_29000_is_learnt_and_found(
    tagger_run: unmask.Tuned, start: Path, tagged_files: dict[str, Path], tmp_path: Path
) -> None:
    filler = ["music", "and", "bread", ",", "of", "course"] * 4900
    words = [*filler, *["nobody", "forgets", "Paris", "."], "music", "and", "bread"]
    (said,) = unmask.load(tagger_run.path).predict(words)
    assert isinstance(said, unmask.Tagged) and said.tokens_read > 29_000 and said.windows > 900
    begin = len(" ".join([*filler, "nobody forgets "]))
    assert ("Paris", begin) in [(each.text, each.start) for each in said.entities]
    tags = ["O"] * len(words)
    tags[len(filler) + 2] = "B-LOC"
    lines = [json.dumps({"tokens": words, "tags": tags}), *[json.dumps({"tokens": ["Paris"], "tags": ["B-LOC"]})] * 10]
    (tmp_path / "long.jsonl").write_text("\n".join(lines))
    batches = opened(start, {"train": tmp_path / "long.jsonl", "dev": tagged_files["dev"]}).batches
    assert batches.words.rows.windows[0] == said.windows and batches.words.rows.lengths.max() <= 64
    here = batches.words.words_of(0)
    assert (batches.targets[here] == 1).sum() == 1 and here.stop - here.start == len(words)


def test_without_dev_every_tenth_text_is_held_out(
    inside: Callable[..., Any], start: Path, tagged_files: dict[str, Path], tmp_path: Path
) -> None:
    done = inside(
        "tune", "tag", start, tagged_files["train"], "--epochs", 0.2, "--folds", 0, "--out", tmp_path / "run", "--json"
    )
    flat = " ".join(done.stderr.split())
    assert "no --dev: 16 of the texts are held out, every tenth" in flat
    assert "words in column 1, tags in column last (IOB2); 144 texts to learn from" in flat
    said = json.loads(done.stdout)
    assert done.returncode == 0 and (said["train"], said["dev"]) == (144, 16)


@pytest.mark.parametrize("family", ["roberta", "modernbert", "deberta-v2", "electra", "distilbert"])
def test_every_family_has_a_head_and_can_be_measured(
    family: str, make_model: Callable[..., Path], tagged_files: dict[str, Path]
) -> None:
    tagging = opened(make_model(family), tagged_files)
    figures = tagging.held_out.measure(tagging.learner(), 300, ALONE)
    assert 0 <= figures["f1"] <= 1 and figures["loss"] > 0


def test_byte_level_words_are_learnt_with_their_spaces(
    make_model: Callable[..., Path], tagged_files: dict[str, Path], tmp_path: Path
) -> None:
    model = make_model("roberta", "bpe", hidden_dropout_prob=0.0, initializer_range=0.1)
    settings: dict[str, Any] = {"dev": tagged_files["dev"], "epochs": 12, "lr": 5e-3, "layer_decay": 1.0}
    tuned = unmask.tune("tag", model, tagged_files["train"], out=tmp_path / "run", **settings)
    assert tuned.figures["f1"] > 0.9


def test_a_tuned_model_goes_on_with_its_labels_and_one_of_another_task_begins_anew(
    tagger_run: unmask.Tuned, start: Path, tagged_files: dict[str, Path], files: dict[str, Path], tmp_path: Path
) -> None:
    head = AutoModelForTokenClassification.from_pretrained(tagger_run.model).classifier.weight
    again = opened(tagger_run.model, tagged_files)
    assert again.same_labels and torch.equal(again.learner().classifier.weight, head)  # type: ignore[union-attr]
    lines = files["train"].read_text().splitlines()
    labels = [json.loads(line) | {"label": f"label {n % 5}"} for n, line in enumerate(lines)]
    (tmp_path / "five.jsonl").write_text("".join(json.dumps(record) + "\n" for record in labels))
    other = unmask.tune("classify", start, tmp_path / "five.jsonl", out=tmp_path / "five", folds=0, epochs=0.2)
    assert len(other.labels) == len(again.decoder.tags) == 5  # a head of the same shape and name
    tagging = opened(other.model, tagged_files)
    drawn = tagging.learner()
    assert not tagging.same_labels
    assert torch.equal(drawn.classifier.weight, opened(start, tagged_files).learner().classifier.weight)  # type: ignore


def test_what_cannot_be_done_is_told_plainly(
    tagger_run: unmask.Tuned, start: Path, tagged_files: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="is tuned for tagging and has no head that fills blanks; unmask predict"):
        unmask.fill(tagger_run.path, "The [MASK].")
    bare = tmp_path / "bare"
    AutoModelForTokenClassification.from_pretrained(start).save_pretrained(bare)
    with pytest.raises(BadInput, match=r"bare: has no tokenizer, tokenizer\.json is missing"):
        unmask.tune("tag", bare, tagged_files["train"], out=tmp_path / "run")
    with pytest.raises(BadInput, match="--sets: sets are of the labels of texts, and tag has none"):
        unmask.tune("tag", start, tagged_files["train"], sets=0.9, out=tmp_path / "run")
    (tmp_path / "test.conll").write_text("Bonn B-CITY\n")
    with pytest.raises(BadInput, match=r"test\.conll:1: the label 'CITY' is none that was learnt from"):
        unmask.tune("tag", start, tagged_files["train"], test=tmp_path / "test.conll", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_without_others_to_judge_by_each_text_is_judged_by_a_model_that_has_not_seen_it(
    start: Path, tagged_files: dict[str, Path], tmp_path: Path
) -> None:
    given: dict[str, Any] = {"folds": 2, "epochs": 4, "lr": 3e-3, "precision": "float32"}
    result = unmask.tune("tag", start, tagged_files["train"], out=tmp_path / "run", **given)
    every = read_tagged(tagged_files["train"])
    assert isinstance(result.folds, unmask.JudgedTags) and result.folds.examples == len(every) and result.test is None
    parts = [part.examples for _, part in tagging_of(start, TuneSettings(), every, None).folds(2)]
    assert sorted(each.line for part in parts for each in part) == sorted(each.line for each in every.examples)
    right = said = 0
    for number, part in enumerate(parts, start=1):
        tagger = Tagger(tmp_path / "run" / "trials" / f"fold-{number}")
        assert tagger.card.labels == every.labels
        words = [[each.text[begin:end] for begin, end in each.words or ()] for each in part]
        for each, answer in zip(part, tagger.predict(words), strict=True):
            found = {(entity.start, entity.end, entity.label) for entity in answer.entities}
            right += len(found & {tuple(span) for span in each.spans})
            said += len(found)
    assert result.folds.precision == pytest.approx(right / max(1, said))
    assert result.folds.recall == pytest.approx(right / every.entities)
