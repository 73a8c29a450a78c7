"""Pages of similarity, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import Figure, JudgedSimilarity, PairError, Similarity, SimilarityBaseline, Tuned

FIGURE = Figure(0.8, 0.75, 0.85)
ERROR = PairError(line=3, text="a", pair="b", true=5.0, said=0.1, off=0.9)
TUNED = Tuned(
    path=Path("sts"),
    model=Path("sts/model"),
    task="similarity",
    start=Path("run/model"),
    labels=(),
    several=False,
    fields={"text": "sentence1", "pair": "sentence2", "label": "score"},
    train=5749,
    dev=1500,
    parameters=7_000_000,
    lr=2.7e-4,
    steps=540,
    step=455,
    seconds=321.0,
    precision="float32",
    temperature=None,
    figures={"spearman": 0.81, "pearson": 0.8},
    next=("unmask predict sts PAIRS.jsonl",),
    weights_sha256="0" * 64,
)


def page(result: object) -> str:
    console = Console(width=80, no_color=True, record=True, file=StringIO())
    console.print(draw_result(result))
    return console.export_text()


def test_the_model_stands_beside_its_baselines() -> None:
    judged = JudgedSimilarity(
        data=Path("test.tsv"),
        examples=90,
        empty=2,
        spearman=FIGURE,
        pearson=FIGURE,
        leaked=3,
        clean_spearman=FIGURE,
        clean_pearson=FIGURE,
        baselines=(SimilarityBaseline(name="frozen vectors, whitened", spearman=FIGURE, pearson=FIGURE),),
        errors=(ERROR,),
    )
    said = page(replace(TUNED, test=judged))
    assert "on 90 test pairs" in said and "0.75" in said and "frozen vectors, whitened" in said
    assert "Without what leaked (3), Spearman is 0.800" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80
    every = replace(judged, leaked=90, clean_spearman=None)
    assert "90 of 90 leaked: too few are left for Spearman" in " ".join(page(replace(TUNED, test=every)).split())
    assert "No --test:" in page(TUNED)


def test_a_pair_is_shown_with_its_cosine_and_the_range_of_its_score() -> None:
    settings = {"low": 0.0, "high": 5.0, "tokens_read": 12, "windows": 2}
    said = page(Similarity(text="A man sleeps.", pair="He is asleep.", cosine=0.8, score=3.9, **settings))  # type: ignore[arg-type]
    assert "0.800" in said and "3.90" in said and "of 0 to 5" in said and "windows" not in said
