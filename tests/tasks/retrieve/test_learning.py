"""Retrieval as a job: it learns to find, whatever a step is cut into, and judges each query by what has not seen it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

import unmask
from unmask.errors import BadInput, Interrupted
from unmask.tasks.request import new_request
from unmask.tasks.retrieve.learning import Retrieving
from unmask.tasks.retrieve.open import open_retrieving
from unmask.training.session import Session
from unmask.training.step import StepOptions, take_step

SETTINGS: dict[str, Any] = {"epochs": 8, "lr": 1e-3, "precision": "float32", "save_seconds": 0.0, "batch_size": 16}


@pytest.fixture(scope="module")
def tuned(start: Path, unsplit: Path, tmp_path_factory: pytest.TempPathFactory) -> unmask.Tuned:
    out = tmp_path_factory.mktemp("tuned") / "run"
    return unmask.tune("retrieve", start, unsplit, out=out, folds=2, dimensions="16", **SETTINGS)


def opened(start: Path, folder: Path, **given: Any) -> Retrieving:
    return open_retrieving(new_request({"model": start, "train": folder}, {"batch_size": 16, **given}))[0]


def test_every_query_is_judged_by_a_model_that_has_not_seen_it(tuned: unmask.Tuned, start: Path, unsplit: Path) -> None:
    assert isinstance(tuned.folds, unmask.JudgedRetrieval) and tuned.test is None
    assert (tuned.folds.queries, tuned.folds.documents, tuned.folds.leaked) == (45, 45, 0)
    assert tuned.train + tuned.dev == 45 and (tuned.path / "trials" / "fold-2" / "model").is_dir()
    figures = {way.name: way.ndcg_10.value for way in tuned.folds.baselines}
    assert [*figures] == ["this model with BM25", "BM25", "frozen vectors"]
    assert figures["BM25"] > 0.9 and tuned.folds.ndcg_10.value > figures["frozen vectors"]
    folds = opened(start, unsplit).folds(2)
    judged = [query.id for _, queries in folds for query in queries.examples]
    assert len(judged) == len(set(judged)) == 45
    for fold, queries in folds:
        seen = {query.id for query in (*fold.train.examples, *fold.dev.examples)}  # type: ignore[attr-defined]
        assert not seen & {query.id for query in queries.examples} and len(seen) + len(queries) == 45


def test_the_model_searches_by_its_own_index_and_loads_in_sentence_transformers(
    tuned: unmask.Tuned, unsplit: Path, tmp_path: Path
) -> None:
    texts = ["the cat sees the dog again.", "river and moon"]
    theirs = SentenceTransformer(str(tuned.model), device="cpu", local_files_only=True).encode(texts)
    ours = unmask.load(tuned.path).embed(texts)
    assert np.abs(theirs - ours).max() < 1e-5
    (said,) = unmask.predict(tuned.path, texts[1], texts[0])
    assert isinstance(said, unmask.Relevance) and said.score == pytest.approx(float(ours[1] @ ours[0]), abs=1e-5)
    unmask.index(tuned.path, unsplit / "corpus.jsonl", out=tmp_path / "index", dimensions=16)
    (found,) = unmask.search(tmp_path / "index", "bread and bridge")
    assert isinstance(found, unmask.Searched) and found.by == "fused" and found.hits[0].matched


def test_neither_micro_batches_nor_parts_change_a_step(start: Path, split: Path) -> None:
    steps = []
    for micro_batch, splits in ((15, 1), (4, 1), (15, 3)):
        session = Session.begin(opened(start, split, micro_batch=micro_batch, options={"hard": 2}).job(), 20)
        options = StepOptions(splits=splits)
        result = take_step(session.learner, session.optimizer, session.source, step=2, options=options)
        weights = torch.cat([parameter.detach().flatten() for parameter in session.learner.parameters()])
        steps.append((result.loss, result.gradient, weights))
        assert result.predictions == 15 and "first" in result.figures
    for loss, norm, weights in steps[1:]:
        assert loss == pytest.approx(steps[0][0], abs=1e-5) and norm == pytest.approx(steps[0][1], rel=1e-4)
        assert (weights - steps[0][2]).abs().max() < 2e-4


def test_with_a_test_split_there_are_no_folds_and_stopped_it_goes_on_to_the_same_weights(
    start: Path,
    split: Path,
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    run = unmask.tune("retrieve", start, split, out=tmp_path / "run", **{**SETTINGS, "epochs": 4})
    assert isinstance(run.test, unmask.JudgedRetrieval) and run.folds is None and run.test.queries == 15
    assert (run.train, run.dev, run.steps) == (15, 15, 4) and not (run.path / "trials").exists()
    with interrupted(2), pytest.raises(Interrupted, match="to go on: unmask tune retrieve --resume"):
        unmask.tune("retrieve", start, split, out=tmp_path / "again", **{**SETTINGS, "epochs": 4})
    assert unmask.tune("retrieve", resume=tmp_path / "again").weights_sha256 == run.weights_sha256


def test_pairs_of_query_and_passage_are_learnt_too(start: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"question": f"cat {n}", "passage": f"the cat sees {n} clouds"}) for n in range(20)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    run = unmask.tune("retrieve", start, tmp_path / "pairs.jsonl", out=tmp_path / "run", **{**SETTINGS, "epochs": 1})
    assert run.test is None and run.fields == {"text": "question", "pair": "passage"} and run.train == 18


def test_a_model_that_was_tuned_before_mines_too(tuned: unmask.Tuned, start: Path, split: Path) -> None:
    assert opened(tuned.model, split).mines_by_vectors and not opened(start, split).mines_by_vectors
    by_both = opened(tuned.model, split, options={"hard": 4}).batches.negatives
    by_words = opened(start, split, options={"hard": 4}).batches.negatives
    assert by_both.shape == by_words.shape and not np.array_equal(by_both, by_words)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"folds": 1}, "--folds 1: give 2 or more, or 0 for none"),
        ({"sets": 0.9}, "--sets: sets are of the labels of texts, and retrieve has none"),
        ({"hard": -1}, "--hard -1: give 0 or more"),
        ({"dimensions": "512"}, "--dimensions 512: this model's vectors have"),
        ({"dimensions": "many"}, "--dimensions many: give numbers with commas between"),
        ({"loss": "cosine"}, "--loss: is a setting of tune similarity, not of retrieve"),
        ({"dev": "x"}, "has its own splits in qrels/; leave it out"),
    ],
)
def test_settings_that_cannot_be_are_told(
    given: dict[str, Any], said: str, start: Path, split: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=said):
        unmask.tune("retrieve", start, split, out=tmp_path / "run", **given)


def test_a_handful_of_queries_is_too_few(start: Path, split: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(split, tmp_path / "folder"))
    (folder / "qrels" / "train.tsv").write_text("q1\td1\t1\n")
    with pytest.raises(BadInput, match=r"train\.tsv: 1 query, too few to learn from; give at least 10"):
        unmask.tune("retrieve", start, folder, out=tmp_path / "run")
