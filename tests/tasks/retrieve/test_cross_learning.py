"""A cross-encoder: it learns, loads in sentence-transformers with the same scores, and reranks what a search finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

import unmask
from unmask.errors import BadInput
from unmask.tasks.request import new_request
from unmask.tasks.retrieve.open import open_retrieving
from unmask.training.session import Session
from unmask.training.step import take_step

SETTINGS: dict[str, Any] = {"head": "cross", "lr": 3e-3, "precision": "float32", "batch_size": 15, "hard": 3}


@pytest.fixture(scope="module")
def tuned(start: Path, split: Path, tmp_path_factory: pytest.TempPathFactory) -> unmask.Tuned:
    out = tmp_path_factory.mktemp("tuned") / "run"
    return unmask.tune("retrieve", start, split, out=out, epochs=8, **SETTINGS)


def test_it_is_judged_on_what_words_find_reranked(tuned: unmask.Tuned) -> None:
    assert isinstance(tuned.test, unmask.JudgedRetrieval)
    names = [way.name for way in tuned.test.baselines]
    assert names == ["this model with BM25", "BM25", "frozen vectors"]
    by_words = tuned.test.baselines[1]
    assert tuned.test.recall_100.value == by_words.recall_100.value  # it finds nothing anew
    assert {"ndcg_10", "mrr_10", "recall_100"} <= set(tuned.figures)


def test_scores_are_those_of_sentence_transformers(tuned: unmask.Tuned) -> None:
    pairs = [("cat and dog", "the cat sees the dog again."), ("river and moon", "the king sees the sea in winter.")]
    theirs = CrossEncoder(str(tuned.model), device="cpu", local_files_only=True).predict(pairs)
    ours = unmask.load(tuned.path).predict(*(query for query, _ in pairs), pairs=[text for _, text in pairs])
    scores = [said.score for said in ours if isinstance(said, unmask.Relevance)]
    assert np.abs(np.asarray(theirs) - scores).max() < 1e-5


def test_a_search_is_given_in_the_order_of_the_reranker(
    tuned: unmask.Tuned, start: Path, split: Path, tmp_path: Path
) -> None:
    unmask.index(start, split / "corpus.jsonl", out=tmp_path / "index")
    query = "bread and bridge"
    (plain,) = unmask.search(tmp_path / "index", query, by="bm25", top=20)
    (found,) = unmask.search(tmp_path / "index", query, by="bm25", top=3, rerank=tuned.path, depth=20)
    assert isinstance(plain, unmask.Searched) and isinstance(found, unmask.Searched)
    model = unmask.load(tuned.path)
    said = model.predict(*[query] * len(plain.hits), pairs=[hit.text for hit in plain.hits])
    scores = [each.score for each in said if isinstance(each, unmask.Relevance)]
    order = np.argsort(-np.array(scores), kind="stable")[:3].tolist()
    assert [hit.document for hit in found.hits] == [plain.hits[place].document for place in order]
    assert [hit.ranks["before"] for hit in found.hits] == [place + 1 for place in order]
    assert [hit.score for hit in found.hits] == pytest.approx([scores[place] for place in order], abs=1e-5)
    assert found.reranked == tuned.model and plain.reranked is None
    with pytest.raises(BadInput, match="at least the 10 documents that are asked for by --top"):
        unmask.search(tmp_path / "index", query, by="bm25", rerank=tuned.path, depth=5)
    with pytest.raises(BadInput, match="is not tuned"):
        unmask.search(tmp_path / "index", query, by="bm25", rerank=start)


def test_neither_micro_batches_nor_parts_change_a_step(start: Path, split: Path) -> None:
    steps = []
    for micro_batch in (15, 4):
        given = {"batch_size": 15, "micro_batch": micro_batch, "options": {"head": "cross", "hard": 3}}
        opened, _ = open_retrieving(new_request({"model": start, "train": split}, given))
        session = Session.begin(opened.job(), 10)
        for module in session.learner.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        result = take_step(session.learner, session.optimizer, session.source, step=1)
        named = dict(session.learner.named_parameters())
        named.pop(
            "classifier.bias"
        )  # which moves all candidates of a query alike: its gradient is what rounding leaves
        steps.append((result.loss, torch.cat([each.detach().flatten() for each in named.values()])))
    assert steps[0][0] == pytest.approx(steps[1][0], rel=1e-5)
    assert (steps[0][1] - steps[1][1]).abs().max() < 2e-4


def test_what_a_cross_encoder_cannot_do_is_refused(tuned: unmask.Tuned, split: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="makes no index; search --rerank asks it"):
        unmask.index(tuned.path, split / "corpus.jsonl", out=tmp_path / "index")
    with pytest.raises(BadInput, match="has no vectors; leave it out"):
        unmask.tune("retrieve", tuned.path, split, out=tmp_path / "run", dimensions="8", **SETTINGS)
    with pytest.raises(BadInput, match="learns to tell an answer from others"):
        unmask.tune("retrieve", tuned.path, split, out=tmp_path / "run", **{**SETTINGS, "hard": 0})
