"""Pages of retrieval, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import Figure, JudgedRetrieval, QueryError, Relevance, RetrievalWay, Tuned

FIGURE = Figure(0.412, 0.355, 0.468)
TUNED = Tuned(
    path=Path("search"),
    model=Path("search/model"),
    task="retrieve",
    start=Path("run/model"),
    labels=(),
    several=False,
    fields={"text": "query", "pair": "passage"},
    train=203,
    dev=22,
    parameters=7_000_000,
    lr=2.7e-4,
    steps=540,
    step=455,
    seconds=321.0,
    precision="float32",
    temperature=None,
    figures={"ndcg_10": 0.4, "mrr_10": 0.5, "recall_100": 0.8},
    next=("unmask index search CORPUS.jsonl --out index",),
    weights_sha256="0" * 64,
)


def page(result: object) -> str:
    console = Console(width=80, no_color=True, record=True, file=StringIO())
    console.print(draw_result(result))
    return console.export_text()


def test_all_ways_of_searching_stand_beside_each_other_and_folds_are_said() -> None:
    ways = ("this model", "this model with BM25", "BM25", "frozen vectors")
    judged = JudgedRetrieval(
        data=Path("qrels/test.tsv"),
        queries=225,
        documents=1400,
        ndcg_10=FIGURE,
        mrr_10=FIGURE,
        recall_100=FIGURE,
        baselines=tuple(RetrievalWay(name=name, ndcg_10=FIGURE, mrr_10=FIGURE, recall_100=FIGURE) for name in ways[1:]),
        errors=(QueryError(id="7", text="wing flutter", ndcg_10=0.0, answers=("1",), said=("2",)),),
    )
    said = page(replace(TUNED, folds=judged))
    words = " ".join(said.split())
    assert "on 225 queries" in said and all(name in said for name in ways) and "0.355 – 0.468" in said
    assert "Each example is judged by a model that has not seen it;" in words
    leaked = page(replace(TUNED, test=replace(judged, leaked=5, clean_ndcg_10=FIGURE), folds=judged))
    assert "Without what leaked (5), nDCG@10 is" in " ".join(leaked.split()) and leaked.count("on 225 queries") == 2
    assert "Searched among 1,400 documents." in words and max(map(len, said.splitlines())) <= 80
    assert "No test queries" in page(TUNED)


def test_a_query_and_a_passage_are_shown_with_their_score() -> None:
    said = page(Relevance(text="wing flutter", pair="On the flutter of wings.", score=0.71, tokens_read=9, windows=2))
    assert said.startswith("0.710  wing flutter  |  On the flutter")
