"""What is found, at 80 columns, in colour and without."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import Hit, NearPair, NearTexts, Searched

TEXT = (
    "A study of nothing in particular, which goes on for quite a while. " * 5
    + "Wing flutter at high speed. "
    + "End. " * 60
)
BEGIN = TEXT.index("flutter")


def drawn(result: object, *, colour: bool = False) -> str:
    file = io.StringIO()
    Console(file=file, width=80, force_terminal=colour, color_system="standard" if colour else None).print(
        draw_result(result)
    )
    return file.getvalue()


def searched(**changes: object) -> Searched:
    hit = Hit(
        id="d#2", document="d", passage=2, score=0.03, ranks={"bm25": 4}, text=TEXT, matched=((BEGIN, BEGIN + 7),)
    )
    facts = {"query": "flutter", "index": Path("i"), "by": "fused", "tuned": False, "hits": (hit,)}
    return Searched(**{**facts, **changes})  # type: ignore[arg-type]


def test_the_stretch_with_the_matched_word_is_shown_and_marked_without_colour_too() -> None:
    page = drawn(searched())
    assert "*flutter*" in page and "d, passage 2  words 4., vectors –" in page
    assert max(map(len, page.splitlines())) <= 80 and len(page.splitlines()) < 14
    in_colour = drawn(searched(), colour=True)
    assert "*flutter*" not in in_colour and "\x1b[1;4;33mflutter\x1b[0m" in in_colour


@pytest.mark.parametrize(
    ("by", "tuned", "said"), [("fused", False, True), ("bm25", False, False), ("dense", True, False)]
)
def test_that_an_untuned_model_searches_badly_is_said_where_it_was_asked(by: str, tuned: bool, said: bool) -> None:
    assert ("was not tuned for search" in drawn(searched(by=by, tuned=tuned))) == said


def test_nothing_found_and_too_much_near_say_what_to_do() -> None:
    assert "--by dense looks for what is near in meaning" in drawn(searched(hits=()))
    pair = NearPair(first="a", second="b", cosine=0.98765, excerpts=("one " * 40, "two"))
    near = NearTexts(path=Path("v"), texts=9, above=0.9, total=30, crowded=True, pairs=(pair,))
    page = drawn(near)
    assert "0.9877  a  b" in page and "30 pairs of 9 texts" in page and "--whiten" in page
    assert max(map(len, page.splitlines())) <= 80
    none = NearTexts(path=Path("v"), texts=9, above=0.9, total=0, crowded=False, pairs=())
    assert "no pairs of 9 texts" in drawn(none)
