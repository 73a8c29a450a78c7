"""Similarity as a job: it learns, stops and goes on, is cut up at will, and loads in sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

import unmask
from unmask.errors import BadInput, Interrupted
from unmask.files import sha256_of
from unmask.tasks.settings import TuneSettings
from unmask.tasks.similarity.learning import Comparing, comparing_of
from unmask.tasks.similarity.scored import read_scored
from unmask.training.session import Session
from unmask.training.step import StepOptions, take_step

SETTINGS = {"epochs": 6, "lr": 1e-3, "precision": "float32", "save_seconds": 0.0}


def tune(start: Path, scored: dict[str, Path], out: Path, **more: Any) -> unmask.Tuned:
    settings = {"dev": scored["dev"], **SETTINGS, **more}
    return unmask.tune("similarity", start, scored["train"], out=out, **settings)


@pytest.fixture(scope="module")
def tuned(start: Path, scored: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> unmask.Tuned:
    return tune(start, scored, tmp_path_factory.mktemp("tuned") / "run")


def opened(model: Path, scored: dict[str, Path], /, **settings: Any) -> Comparing:
    train, dev = (read_scored(scored[name]) for name in ("train", "dev"))
    return comparing_of(model, TuneSettings(**settings), train, dev)


def test_cosines_come_to_follow_scores(tuned: unmask.Tuned) -> None:
    assert tuned.figures["spearman"] > 0.8 and tuned.task == "similarity" and tuned.labels == ()
    alike, other = unmask.predict(
        tuned.path, "the cat sees the dog again.", "the cat sees the dog in winter.",
        "the cat sees the dog again.", "the river sees the bread again.",
    )  # fmt: skip
    assert isinstance(alike, unmask.Similarity) and isinstance(other, unmask.Similarity)
    assert alike.cosine > other.cosine and 0 <= other.score < alike.score <= 5 == alike.high


def test_the_model_loads_in_sentence_transformers_with_the_vectors_of_embed_and_predict(tuned: unmask.Tuned) -> None:
    texts = ["the cat sees the dog again.", "Nobody likes clouds.", "river " * 20]
    theirs = SentenceTransformer(str(tuned.model), device="cpu", local_files_only=True).encode(texts)
    ours = unmask.load(tuned.path).embed(texts)
    assert np.abs(theirs - ours).max() < 1e-5
    (said,) = unmask.load(tuned.path).predict(texts[0], pairs=[texts[1]])
    assert said.cosine == pytest.approx(float(ours[0] @ ours[1]), abs=1e-5)  # type: ignore[union-attr]


def test_a_long_text_is_read_whole_and_as_embed_reads_it(tuned: unmask.Tuned) -> None:
    long, short = "the king sees the cat again. " * 60, "the cat again."
    (said,) = unmask.predict(tuned.path, long, short)
    assert isinstance(said, unmask.Similarity) and said.windows > 5 and said.tokens_read > 400
    ours = unmask.load(tuned.path).embed([long, short])
    assert said.cosine == pytest.approx(float(ours[0] @ ours[1]), abs=1e-5)


def test_stopped_on_the_way_it_goes_on_to_the_same_weights(
    tuned: unmask.Tuned,
    start: Path,
    scored: dict[str, Path],
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    with interrupted(5), pytest.raises(Interrupted, match="to go on: unmask tune similarity --resume"):
        tune(start, scored, tmp_path / "run")
    again = unmask.tune("similarity", resume=tmp_path / "run")
    assert again.weights_sha256 == tuned.weights_sha256 == sha256_of(tuned.model / "model.safetensors")


@pytest.mark.parametrize("loss", ["cosent", "cosine"])
def test_neither_micro_batches_nor_parts_change_a_step(loss: str, start: Path, scored: dict[str, Path]) -> None:
    weights = []
    for micro_batch, splits in ((32, 1), (5, 1), (32, 3)):
        comparing = replace(opened(start, scored, micro_batch=micro_batch), loss=loss)
        session = Session.begin(comparing.job(), 20)
        options = StepOptions(splits=splits)
        result = take_step(session.learner, session.optimizer, session.source, step=3, options=options)
        assert result.predictions == 32 and result.splits == splits
        gradients = torch.cat([parameter.detach().flatten() for parameter in session.learner.parameters()])
        weights.append((result.loss, result.gradient, gradients))
    for loss_there, norm, parameters in weights[1:]:
        assert loss_there == pytest.approx(weights[0][0], abs=1e-5) and norm == pytest.approx(weights[0][1], rel=1e-4)
        assert (parameters - weights[0][2]).abs().max() < 2e-4


def test_cosine_regression_learns_too_and_the_run_keeps_its_loss(
    start: Path, scored: dict[str, Path], tmp_path: Path
) -> None:
    run = tune(start, scored, tmp_path / "run", loss="cosine", epochs=4, test=scored["test"])
    assert run.figures["spearman"] > 0.6 and isinstance(run.test, unmask.JudgedSimilarity)
    description = json.loads((run.path / "run.json").read_text())
    assert description["options"] == {"loss": "cosine"}
    assert unmask.tune("similarity", resume=run.path).weights_sha256 == run.weights_sha256


def test_without_dev_a_tenth_is_held_out(start: Path, scored: dict[str, Path], tmp_path: Path) -> None:
    run = tune(start, scored, tmp_path / "run", dev=None, folds=0, epochs=1)
    assert (run.train, run.dev) == (108, 12)


@pytest.mark.parametrize("family", ["roberta", "modernbert", "deberta-v2", "distilbert"])
def test_every_family_has_vectors_and_can_be_measured(
    family: str, make_model: Callable[..., Path], scored: dict[str, Path]
) -> None:
    comparing = opened(make_model(family), scored, micro_batch=16)
    session = Session.begin(comparing.job(), 20)
    assert take_step(session.learner, session.optimizer, session.source, step=0).finite


def test_a_setting_of_another_task_is_refused(
    start: Path, files: dict[str, Path], scored: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="--sets: sets are of the labels of texts, and similarity has none"):
        tune(start, scored, tmp_path / "run", sets=0.9)
    with pytest.raises(BadInput, match="--loss: is a setting of tune similarity, not of classify"):
        unmask.tune("classify", start, files["train"], out=tmp_path / "run", loss="cosine")


def test_without_others_to_judge_by_each_pair_is_judged_by_a_model_that_has_not_seen_it(
    start: Path, scored: dict[str, Path], tmp_path: Path
) -> None:
    given = {**SETTINGS, "epochs": 2, "folds": 2}
    result = unmask.tune("similarity", start, scored["train"], out=tmp_path / "run", **given)  # type: ignore[arg-type]
    every = read_scored(scored["train"])
    assert isinstance(result.folds, unmask.JudgedSimilarity) and result.folds.examples == len(every)
    said, true = [], []
    for number, (_, part) in enumerate(comparing_of(start, TuneSettings(), every, None).folds(2), start=1):
        model = unmask.load(tmp_path / "run" / "trials" / f"fold-{number}")
        answers = model.predict(*(each.text for each in part.examples), pairs=[each.pair for each in part.examples])
        said += [each.score for each in answers if isinstance(each, unmask.Similarity)]
        true += [each.score for each in part.examples]
    assert result.folds.spearman.value == pytest.approx(float(spearmanr(said, true).statistic), abs=1e-6)
