"""A comparison's picture has a panel for each figure that somebody has."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import matplotlib
import matplotlib.image
import pytest
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from unmask.evaluation.chart import chart_panels, draw_chart, lay_out, wrap_name
from unmask.results import ComparedRun, Comparison, Figure, Probed
from unmask.runs.plot import STYLE

FIGURE = Figure(0.25, 0.2, float("nan"))


def compared_run(recipe: str, masked: Figure | None, text: Figure | None) -> ComparedRun:
    probed = Probed(kind="classification", score=FIGURE, untrained=FIGURE, majority=0.5, learnt=30, tested=20)
    return ComparedRun(
        name=recipe,
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
        path=Path("c"), data=Path("d"), budget={"tokens": 1}, seed=0, length=128, runs=runs, plot=Path("c/compare.png")
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


LABELLED = "my_customer_reviews_labelled_2026.jsonl"
LONG = "experiments/2026-11-17/modernbert-mini-with-a-higher-rate-and-longer-warmup/seed-{}"


@pytest.mark.parametrize(
    "names",
    [
        ["bert", "electra"],
        ["bert", "causal-then-mlm-base", "deberta-v3-small", "spanbert-mini", "diffusion-tiny"],
        [f"bert-{number}" for number in range(12)],
        [LONG.format(number) for number in range(12)],
        ["x" * 90, "causal"],
    ],
)
def test_every_caption_is_whole_and_none_covers_another(names: list[str]) -> None:
    runs = [
        compared_run(name, Figure(6.9, 6.8, 7.0), Figure(2.0 + place, 1.9, 9.0)) for place, name in enumerate(names)
    ]
    runs = [replace(run, probes=run.probes | {LABELLED: run.probes["order"]}) for run in runs]
    with matplotlib.rc_context(STYLE):
        drawing = lay_out(compared(*runs))
        FigureCanvasAgg(drawing).draw()
        titles = [axes.findobj(partial(_says, axes.get_title(loc="left")))[0] for axes in drawing.axes]
        labels = [text for axes in drawing.axes for text in axes.get_yticklabels() if text.get_text()]
        values = [text for axes in drawing.axes for text in axes.texts]
        assert len(labels) == 2 * len(names) and len(values) == 6 * len(names)  # two lines of three panels
        paper = drawing.bbox
        for text in (*titles, *labels, *values, *drawing.texts):
            box = text.get_window_extent()
            assert paper.x0 <= box.x0 < box.x1 <= paper.x1, text.get_text()
            assert paper.y0 <= box.y0 < box.y1 <= paper.y1, text.get_text()
        for row in (titles[:3], titles[3:], labels[: len(names)], labels[len(names) :], drawing.axes[0].texts):
            boxes = [text.get_window_extent() for text in row]
            assert not any(one.overlaps(other) for one, other in pairwise(boxes))


def _says(title: str, part: Artist) -> bool:
    return isinstance(part, Text) and part.get_text() == title


def test_a_long_name_is_broken_at_its_joints_and_loses_nothing() -> None:
    for name in (LONG.format(1), "x" * 90, "bert", "a_b.c d", ""):
        assert wrap_name(name, 20).replace("\n", "") == name
        assert max(map(len, wrap_name(name, 20).split("\n"))) <= 20
