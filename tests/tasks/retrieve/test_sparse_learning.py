"""A sparse head: words are weighed as sentence-transformers does it, made rare, indexed and searched by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SparseEncoder
from transformers import AutoModelForMaskedLM

import unmask
from unmask.errors import BadInput
from unmask.tasks.request import new_request
from unmask.tasks.retrieve.open import open_retrieving
from unmask.tasks.retrieve.sparse_retriever import SparseRetriever
from unmask.training.session import Session
from unmask.training.step import take_step

SETTINGS: dict[str, Any] = {"head": "sparse", "lr": 3e-3, "precision": "float32", "batch_size": 15, "sparsity": 1000.0}


@pytest.fixture(scope="module")
def tuned(start: Path, split: Path, tmp_path_factory: pytest.TempPathFactory) -> unmask.Tuned:
    out = tmp_path_factory.mktemp("tuned") / "run"
    return unmask.tune("retrieve", start, split, out=out, epochs=60, **SETTINGS)


def test_it_is_judged_by_its_own_index_alone_and_fused(tuned: unmask.Tuned) -> None:
    assert isinstance(tuned.test, unmask.JudgedRetrieval)
    assert [way.name for way in tuned.test.baselines] == ["this model with BM25", "BM25", "frozen vectors"]
    assert 0 < tuned.figures["document_words"] < 290 and tuned.test.ndcg_10.value > 0.05


def test_words_are_weighed_as_sentence_transformers_does_and_the_model_still_fills_blanks(tuned: unmask.Tuned) -> None:
    texts = ["the cat sees the dog again.", "river and moon"]
    theirs = SparseEncoder(str(tuned.model), device="cpu", local_files_only=True).encode(texts).to_dense().numpy()
    ours = SparseRetriever(tuned.path).weigh(texts)
    assert np.abs(theirs - ours.toarray()).max() < 1e-5
    assert AutoModelForMaskedLM.from_pretrained(tuned.model) is not None
    (said,) = unmask.predict(tuned.path, texts[0])
    assert isinstance(said, unmask.Expanded) and said.active == ours[0].nnz
    heaviest = [each.weight for each in said.words]
    assert heaviest == sorted(heaviest, reverse=True)
    own = {each.word for each in said.words if not each.gained}
    assert not {"river", "moon"} & own


def test_an_index_keeps_weighted_words_and_is_changed_without_weighing_the_rest(
    tuned: unmask.Tuned, split: Path, tmp_path: Path
) -> None:
    made = unmask.index(tuned.path, split / "corpus.jsonl", out=tmp_path / "index")
    assert made.tuned and made.documents == 45
    query = "bread and bridge"
    (found,) = unmask.search(tmp_path / "index", query, by="sparse")
    assert isinstance(found, unmask.Searched)
    retriever = SparseRetriever(tuned.path)
    scores = [
        float((retriever.weigh([query]) @ retriever.weigh([hit.text]).T).toarray()[0, 0]) for hit in found.hits[:3]
    ]
    assert scores == pytest.approx([hit.score for hit in found.hits[:3]], rel=1e-4)
    unmask.index(tmp_path / "index", remove=(found.hits[0].document,))
    (after,) = unmask.search(tmp_path / "index", query, by="sparse")
    assert isinstance(after, unmask.Searched)
    assert [hit.document for hit in after.hits[:3]] == [hit.document for hit in found.hits[1:4]]
    (fused,) = unmask.search(tmp_path / "index", query)
    assert isinstance(fused, unmask.Searched) and fused.by == "fused" and "sparse" in fused.hits[0].ranks
    with pytest.raises(BadInput, match="was made with a sparse model; give --by sparse"):
        unmask.search(tmp_path / "index", query, by="dense")
    with pytest.raises(BadInput, match="has weighted words and no vectors"):
        unmask.near(tmp_path / "index")
    assert unmask.verify(tmp_path / "index").damage == ()


def test_neither_micro_batches_nor_parts_change_a_step(start: Path, split: Path) -> None:
    steps = []
    for micro_batch in (15, 4):
        given = {"batch_size": 15, "micro_batch": micro_batch, "options": {"head": "sparse"}}
        opened, _ = open_retrieving(new_request({"model": start, "train": split}, given))
        session = Session.begin(opened.job(), 10)
        result = take_step(session.learner, session.optimizer, session.source, step=1)
        weights = torch.cat([parameter.detach().flatten() for parameter in session.learner.parameters()])
        steps.append((result.loss, result.figures, weights))
    assert steps[0][0] == pytest.approx(steps[1][0], rel=1e-5)
    assert steps[0][1] == pytest.approx(steps[1][1], rel=1e-4)
    assert (steps[0][2] - steps[1][2]).abs().max() < 2e-4


def test_what_has_no_head_that_fills_blanks_is_refused(tuned: unmask.Tuned, split: Path, tmp_path: Path) -> None:
    dense = unmask.tune("retrieve", tuned.path, split, out=tmp_path / "dense", epochs=1, batch_size=15)
    with pytest.raises(BadInput, match="head"):
        unmask.tune("retrieve", dense.path, split, out=tmp_path / "run", **SETTINGS)
    with pytest.raises(BadInput, match="the vectors of a sparse head are words, and cannot be cut"):
        unmask.tune("retrieve", tuned.path, split, out=tmp_path / "run", dimensions="8", **SETTINGS)
