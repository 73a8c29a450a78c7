"""Laws of how filled blanks are drawn."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import Agreement, Explained, Filled, Filling, Guess, WordRelevance

PAIR = Agreement(
    blanks=(0, 1),
    method="table",
    fillings=(Filling(("York", "City"), -2.5, 0.75, 0.31), Filling(("South", "Wales"), -3.5, 0.25, 0.1)),
    independent=Filling(("York", "York"), -6.0, 2.0, 0.01),
    orders=2,
    outside=(0.07, 0.26),
)
WHY = Explained(
    blanks=(0, 1),
    answer=("York", "City"),
    log_probability=-1.5,
    words=(
        WordRelevance("New", 0, 3, 2.0),
        WordRelevance("in", 14, 16, -0.5),
        WordRelevance("1998", 17, 21, 0.01),
    ),
    replacements=10,
    covered=0.5,
)
FILLED = Filled(
    text="New [MASK] [MASK] in 1998",
    blanks=((Guess("York", 0.8),), (Guess("York", 0.3),)),
    completed="New York City in 1998",
    places=((4, 8), (9, 13)),
    independent="New York York in 1998",
    agreements=(PAIR,),
    tokens=5,
    tokens_read=5,
)


def printed(result: object, **settings: object) -> str:
    settings = {"no_color": True, "color_system": None} | settings
    console = Console(width=80, record=True, **settings)  # type: ignore[arg-type]
    with console.capture() as capture:
        console.print(draw_result(result))
    return capture.get()


def test_what_blanks_agree_on_and_what_each_says_on_its_own_stand_side_by_side() -> None:
    text = printed(FILLED)
    assert "blanks 1, 2 together" in text and "spread of 2 orders" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["York", "City", "31.0%", "-2.50", "0.75"] in rows
    assert "outside the table: 7.0% and 26.0%" in text
    assert "each on its own: New York York in 1998" in text and "blank 2 on its own" in text
    assert "each on its own: the same" in printed(replace(FILLED, independent=FILLED.completed))
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_search_tells_no_probability_of_a_table() -> None:
    fillings = tuple(replace(filling, probability=None) for filling in PAIR.fillings)
    beam = replace(PAIR, method="beam", fillings=fillings, orders=5, outside=())
    text = printed(replace(FILLED, agreements=(beam,)))
    assert "spread of 5 orders" in text and "joint" not in text and "outside" not in text


def test_words_that_mattered_are_marked_by_signs_where_there_is_no_colour_and_by_colour_where_there_is() -> None:
    explained = replace(FILLED, explained=(WHY,))
    text = printed(explained)
    assert "++New++ [York] [City] -in- 1998" in text
    rows = [line.split()[:2] for line in text.splitlines()]
    assert ["New", "+2.00"] in rows and ["in", "-0.50"] in rows and ["1998", "+0.01"] not in rows
    assert "with 10 other words" in " ".join(text.split()) and "50% of what could stand there" in " ".join(text.split())
    coloured = printed(explained, no_color=False, force_terminal=True, color_system="standard")
    assert "\x1b[1;32mNew\x1b[0m" in coloured and "\x1b[31min\x1b[0m" in coloured and "++New++" not in coloured


def test_what_was_read_and_what_was_not_is_told() -> None:
    text = " ".join(printed(replace(FILLED, tokens=30_000, tokens_read=252, windows=2)).split())
    assert "read in 2 windows: 252 of 30,000 tokens stand in sight of a blank" in text
    assert "blanks that do not share one are independent" in text
    cut = " ".join(printed(replace(FILLED, tokens=300, tokens_read=62, cut=238)).split())
    assert "cut: 238 of 300 tokens were not read" in cut and "in sight" not in cut
    assert "word lengths weigh as in the data" in printed(replace(FILLED, word_lengths="the data"))
    assert "tokens" not in printed(FILLED)


def test_of_a_long_text_what_stands_around_its_blanks_is_drawn() -> None:
    long = replace(
        FILLED, completed="x" * 3_000 + FILLED.completed + "y" * 3_000, places=((3_004, 3_008), (3_009, 3_013))
    )
    text = "".join(printed(long).split())
    assert text.startswith("…xxx") and "xNewYorkCityin1998y" in text and "y…" in text and text.count("x") < 200


def test_of_very_many_blanks_the_first_are_drawn_and_the_others_counted() -> None:
    many = replace(
        FILLED,
        blanks=((Guess("a", 0.5),),) * 500,
        completed="a " * 1_500,
        places=tuple((2 * n, 2 * n + 1) for n in range(500)),
        agreements=(PAIR,) * 63,
    )
    text = printed(many)
    assert "59 more groups of blanks that agree are in --json" in text and "484 more blanks are in --json" in text
    assert text.count("on its own\n") <= 17
