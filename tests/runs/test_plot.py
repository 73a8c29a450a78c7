"""The plot of a run, by what is drawn in it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.runs.history import History
from unmask.runs.plot import draw_figure, plot_run, smooth

STEPS = [
    {
        "step": step,
        "loss": 9 - step / 10,
        "accuracy": step / 100,
        "hidden_rate": 0.25 - step / 1000,
        "lr": 3e-3,
        "gradient_norm": 1.0,
        "tokens": step * 4096,
        "tokens_per_second": 4000.0,
        **({"skipped": True, "loss": float("nan")} if step == 7 else {}),
    }
    for step in range(1, 31)
]
MEASURED = [{"step": step, "validation_loss": 8 - step / 10, "validation_accuracy": 0.1} for step in (0, 15, 30)]
FIGURES = [
    {"name": "loss", "title": "Loss, nats a token"},
    {"name": "accuracy", "title": "Accuracy on hidden tokens", "better": "more", "percent": True},
    {"name": "perplexity", "title": "Perplexity"},
    {"name": "hidden_rate", "title": "Hidden rate", "percent": True},
]
HISTORY = History(Path("run"), {"steps": 30, "figures": FIGURES}, tuple(STEPS + MEASURED), running=True)


def test_each_panel_has_its_figures_against_the_tokens_seen() -> None:
    axes = {each.get_title(loc="left"): each for each in draw_figure(HISTORY).axes}
    large, small = ["Loss, nats a token", "Accuracy on hidden tokens"], ["Learning rate", "Hidden rate"]
    assert list(axes) == [*large, *small, "Gradient norm", "Tokens a second"]
    loss = {line.get_label(): line for line in axes["Loss, nats a token"].lines}
    assert list(loss["held out, a sample"].get_xdata()) == [0, 15 * 4096, 30 * 4096]
    assert list(loss["held out, a sample"].get_ydata()) == [8, 6.5, 5]
    (rate,) = (line for line in axes["Hidden rate"].lines if len(line.get_xdata()) == 30)
    assert list(rate.get_ydata()) == [line["hidden_rate"] for line in STEPS]
    assert [text.get_text() for text in axes["Loss, nats a token"].texts] == ["5.00"]
    assert [text.get_text() for text in axes["Accuracy on hidden tokens"].texts] == ["10.0%"]


def test_a_figure_that_is_only_measured_is_seen_whole() -> None:
    lines = [{name: value for name, value in line.items() if name != "accuracy"} for line in STEPS]
    description = {"steps": 30, "figures": FIGURES[1:]}
    axes = draw_figure(History(Path("run"), description, (*lines, *MEASURED), running=True)).axes[0]
    (measured,) = (line for line in axes.lines if len(line.get_xdata()) == len(MEASURED))
    assert axes.get_xlim()[1] >= max(measured.get_xdata()) == 30 * 4096
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["held out, a sample"]


@pytest.mark.parametrize(("keeps_best", "step"), [(True, 15), (False, 30)])
def test_what_is_measured_on_all_of_it_stands_where_the_model_is_of(keeps_best: bool, step: int) -> None:
    measured = [{"step": at, "validation_loss": loss} for at, loss in ((0, 8.0), (15, 5.0), (30, 6.0))]
    lines = (*STEPS, *measured, {"step": 30, "final_loss": 5.1})
    description = {"steps": 30, "figures": FIGURES, "keeps_best": keeps_best}
    axes = draw_figure(History(Path("run"), description, lines, running=False)).axes[0]
    star = next(line for line in axes.lines if line.get_label() == "all of it 5.10")
    assert (list(star.get_xdata()), list(star.get_ydata())) == ([step * 4096], [5.1])


def test_a_skipped_step_is_marked_in_every_panel() -> None:
    panels = draw_figure(HISTORY).axes
    assert len(panels) == 6
    for axes in panels:
        assert any(list(line.get_xdata()) == [7 * 4096, 7 * 4096] for line in axes.lines)


def test_a_picture_and_an_element_come_out_the_same_each_time() -> None:
    made = plot_run(HISTORY)
    assert made.png.startswith(b"\x89PNG") and struct.unpack(">II", made.png[16:24]) == (1320, 770)
    assert made.svg.startswith("<svg") and made.svg.rstrip().endswith("</svg>") and "Loss, nats a token" in made.svg
    assert "http" not in made.svg.replace("http://www.w3.org/", "")
    assert plot_run(HISTORY) == made


@pytest.mark.parametrize("lines", [(), (STEPS[0],), tuple(MEASURED[:1]), ({"step": 1, "tokens": 5, "loss": 1e30},)])
def test_a_run_that_has_hardly_begun_can_be_drawn(lines: tuple[dict[str, object], ...]) -> None:
    assert plot_run(History(Path("run"), {}, lines, running=True)).png


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.integers(1, 9))
def test_a_running_mean_stays_among_its_values(values: list[float], window: int) -> None:
    means = smooth(values, window)
    assert len(means) == len(values)
    assert all(min(values) - 1e-6 <= mean <= max(values) + 1e-6 for mean in means)
    assert smooth(values[::-1], window) == pytest.approx(means[::-1])
