"""Pages of tuned models and of what they say, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import Confusion, Figure, Judged, JudgedBaseline, JudgedLabel, Predicted, SureError, Tuned

FIGURE = Figure(0.8, 0.75, 0.85)


def page(result: object) -> str:
    console = Console(width=80, no_color=True, record=True, file=StringIO())
    console.print(draw_result(result))
    return console.export_text()


def tuned(test: Judged | None) -> Tuned:
    figures = {"accuracy": 0.84, "macro_f1": 0.8, "loss": 0.4}
    return Tuned(
        path=Path("intent"),
        model=Path("intent/model"),
        task="classify",
        start=Path("run/model"),
        labels=tuple(f"label {n}" for n in range(30)),
        several=False,
        fields={"text": "text"},
        train=6920,
        dev=872,
        parameters=7_000_000,
        lr=2.7e-4,
        steps=650,
        step=455,
        seconds=321.0,
        precision="float32",
        temperature=1.2,
        figures=figures,
        test=test,
        next=("unmask predict intent 'A text.'",),
        weights_sha256="0" * 64,
    )


def test_without_test_texts_the_page_says_what_that_means() -> None:
    said = page(tuned(None))
    assert "No --test: what was chosen on dev looks better there than it is." in " ".join(said.split())
    assert "of 650, the best on dev" in said and max(map(len, said.splitlines())) <= 80
    untrained = " ".join(page(replace(tuned(None), step=0)).split())
    assert "learnt nothing" in untrained and "learnt nothing" not in " ".join(said.split())


def test_the_model_stands_beside_its_baselines_and_the_worst_labels_are_shown() -> None:
    judged = Judged(
        data=Path("test.jsonl"),
        examples=90,
        empty=2,
        leaked=3,
        clean_accuracy=FIGURE,
        accuracy=FIGURE,
        macro_f1=FIGURE,
        loss=0.5,
        calibration_error=0.031,
        baselines=(JudgedBaseline(name="majority", accuracy=FIGURE, macro_f1=FIGURE),),
        labels=tuple(
            JudgedLabel(label=f"label {n}", examples=3, precision=0.5, recall=0.5, f1=n / 30) for n in range(30)
        ),
        confusions=(Confusion(true="label 1", said="label 2", count=4),),
        errors=(SureError(line=3, text="A text.", pair=None, true=("a",), said=("b",), probability=0.9),),
    )
    said = page(tuned(judged))
    flat = " ".join(said.split())
    assert "worst of 30 labels" in flat and "label 11 " in flat and "label 12 " not in flat
    assert "majority" in flat and "75.0% – 85.0%" in flat and "Without what leaked (3), accuracy is 80.0%" in flat
    assert "2 test lines without text" in flat and "Only 90 test texts" in flat and "differ by 3.1%" in flat


def test_a_labelled_text_shows_its_labels_and_how_long_texts_were_read() -> None:
    said = page(
        Predicted(
            text="Where is it?",
            label="place",
            probability=0.9,
            labels=("place",),
            probabilities={"animal": 0.1, "place": 0.9},
            tokens_read=29_000,
            windows=460,
        )
    )
    assert said.index("place") < said.index("Where is it?") and "90.0%" in said
    assert "29,000 tokens in 460 windows" in said
