"""What is judged is what `unmask index` and `unmask search` do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.evaluation.tuned.retrieve import judged_way, search_ways, worst_queries
from unmask.tasks.retrieve.collection import Collection, JudgedQueries, Query

DOCUMENTS = {"a": "the cat sees the garden", "b": "the dog crosses the river", "c": "", "d": "bread and butter " * 40}
QUERIES = JudgedQueries(
    Path("test.tsv"), (Query("1", "cat garden", {"a": 2}), Query("2", "butter river", {"b": 1, "d": 1})), "0"
)


def test_the_judge_finds_what_search_finds(make_model: Callable[..., Path], tmp_path: Path) -> None:
    model = make_model()
    found = search_ways(model, Collection(tmp_path, DOCUMENTS), QUERIES, {"BM25": "bm25", "dense": "dense"})
    lines = [json.dumps({"_id": name, "text": text}) for name, text in DOCUMENTS.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    unmask.index(model, tmp_path / "corpus.jsonl", out=tmp_path / "index")
    for way, by in (("BM25", "bm25"), ("dense", "dense")):
        theirs = unmask.search(tmp_path / "index", *QUERIES.texts, by=by)  # type: ignore[arg-type]
        for query, each in zip(QUERIES.examples, theirs, strict=True):
            assert isinstance(each, unmask.Searched)
            assert found[way][query.id] == [hit.document for hit in each.hits]
    assert found["BM25"]["1"] == ["a"] and set(found["dense"]["1"]) == {"a", "b", "d"}


def test_figures_have_intervals_over_queries_and_the_worst_are_kept() -> None:
    figures = {name: np.array([0.2, 0.6, 0.4]) for name in ("ndcg_10", "mrr_10", "recall_100")}
    way = judged_way("BM25", figures)
    assert way.ndcg_10.value == pytest.approx(0.4) and 0 <= way.ndcg_10.low < 0.4 < way.ndcg_10.high <= 1
    (worst, other) = worst_queries(QUERIES, np.array([0.9, 0.1]), {"1": ["a"], "2": ["c", "a"]})
    assert (worst.id, worst.said, worst.answers, other.id) == ("2", ("c", "a"), ("b", "d"), "1")
