"""A comparison's picture has a panel for each figure that somebody has."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib.image

from unmask.evaluation.chart import chart_panels, draw_chart
from unmask.results import ComparedRun, Comparison, Figure, Probed

FIGURE = Figure(0.25, 0.2, float("nan"))


def compared_run(recipe: str, masked: Figure | None, text: Figure | None) -> ComparedRun:
    probed = Probed(kind="classification", score=FIGURE, untrained=FIGURE, majority=0.5, learnt=30, tested=20)
    return ComparedRun(
        recipe=recipe,
        run=Path(recipe),
        parameters=1,
        steps=1,
        tokens=1,
        seconds=1.0,
        tokens_per_second=1.0,
        masked_loss=masked,
        masked_accuracy=masked,
        hidden_bits_per_byte=masked,
        text_bits_per_byte=text,
        text_bound=text is not None,
        figures={},
        probes={"order": probed},
    )


def compared(*runs: ComparedRun) -> Comparison:
    return Comparison(
        path=Path("c"), data=Path("d"), budget={"tokens": 1}, seed=0, runs=runs, plot=Path("c/compare.png")
    )


def test_what_nobody_has_is_not_drawn_and_a_bound_is_marked_as_one() -> None:
    alone = compared(compared_run("bert", FIGURE, None))
    assert [panel.title.split(",")[0] for panel in chart_panels(alone)] == [
        "Masked loss",
        "Masked accuracy",
        "Probe order",
        "Tokens a second",
    ]
    both = compared(compared_run("bert", FIGURE, None), compared_run("diffusion", None, FIGURE))
    text = next(panel for panel in chart_panels(both) if panel.title.startswith("Text"))
    assert set(text.values) == {"diffusion"} == text.bounds


def test_the_picture_is_a_whole_png_also_where_an_interval_is_not_known() -> None:
    picture = matplotlib.image.imread(
        io.BytesIO(draw_chart(compared(compared_run("bert", FIGURE, FIGURE)))), format="png"
    )
    assert picture.shape[1] == 1320 and picture.std() > 0.01
