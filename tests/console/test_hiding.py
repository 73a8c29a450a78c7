import dataclasses

from unmask.console.hiding import draw_audit
from unmask.results import Audited

FOUND = Audited(
    policy="span",
    rows=512,
    tokens=65_536,
    hidden=9_830,
    asked=0.15,
    rate=0.15,
    rate_low=0.1484,
    rate_high=0.1563,
    split={"masked": 0.8, "random": 0.1, "kept": 0.1},
    lengths={1: 500, 2: 250, 4: 100, 15: 50},
    positions=tuple([0.15] * 20 + [0.075]),
    position_p=0.4,
    position_threshold=0.001,
    position_favoured=False,
    specials_hidden=0,
    specials_shown=0,
    silent=0,
    tokens_per_second=18e6,
)


def test_the_drawing_has_every_figure_within_80_columns():
    text = draw_audit(FOUND).plain
    for figure in (
        "512 rows",
        "15.00%",
        "masked 80.0%",
        "0 hidden",
        "18.0 million",
        "p = 0.4",
        "no position is favoured (p = 0.4, not below 0.001)",
    ):
        assert figure in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_bars_are_as_long_as_what_they_stand_for():
    lines = draw_audit(FOUND).plain.splitlines()
    bars = {line.split()[0]: line.count("█") for line in lines if "█" in line}
    assert bars["1"] == 40 and bars["2"] == 20 and bars["0%"] == 40 and bars["95%"] == 20
    assert any(line.strip().startswith("12+") for line in lines)


def test_a_bias_and_a_fault_are_said_in_red():
    bad = dataclasses.replace(FOUND, position_p=1e-9, position_favoured=True, specials_hidden=3)
    drawing = draw_audit(bad)
    assert "a position is favoured" in drawing.plain and "bold red" in {str(span.style) for span in drawing.spans}
    assert "bold red" not in {str(span.style) for span in draw_audit(bad, colour=False).spans}
    assert "too few rows" in draw_audit(dataclasses.replace(FOUND, position_p=None)).plain
