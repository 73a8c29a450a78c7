import dataclasses
from math import nan
from pathlib import Path

from rich.console import Console

from unmask.console.hiding import draw_audit, draw_hardness
from unmask.results import Audited, Figure, Hardness, PolicyHardness

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


def row(policy: str, bits: Figure, beyond: Figure | None) -> PolicyHardness:
    return PolicyHardness(
        policy=policy,
        rate=0.15,
        hidden=9_830,
        bits=bits,
        beyond_reference=beyond,
        unigram_bits=Figure(10.25, 10.1, 10.4),
        under_one_bit=Figure(0.125, 0.12, 0.13),
        neighbours=1.7,
    )


def test_hardness_is_a_line_for_each_policy_with_what_it_was_counted_on():
    unsure = Figure(10.5, nan, nan)  # of one block
    found = Hardness(
        data=Path("data"),
        rows=105,
        length=512,
        counted=4_000_000,
        training_tokens=6_000_000,
        reference="token",
        policies=(
            row("token", Figure(6.0, 5.75, 6.25), None),
            row("permutation", Figure(7.5, 7.25, 7.75), Figure(1.5, 1.375, 1.625)),
            row("span", unsure, unsure),
        ),
    )
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        console.print(draw_hardness(found))
    text = capture.get()
    lines = {words[0]: " ".join(words[1:]) for words in map(str.split, text.splitlines()) if words}
    assert lines["token"] == "15.0% 6.00 ± 0.25 10.25 12.5% 1.70"
    assert lines["permutation"] == "15.0% 7.50 ± 0.25 +1.50 ± 0.12 10.25 12.5% 1.70"
    assert lines["span"] == "15.0% 10.50 +10.50 10.25 12.5% 1.70"
    assert "4,000,000 of 6,000,000 tokens" in text and "105 held-out blocks" in text
