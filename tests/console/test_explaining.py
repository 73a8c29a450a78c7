"""Pages of explained labels, in colour and without, at 80 columns."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import ExplainedLabel, Flip, LabelWord, WordChange

TEXT = "a gripping but slow film"
RESULT = ExplainedLabel(
    text=TEXT,
    label="positive",
    probability=0.9,
    labels=("positive",),
    words=(
        LabelWord(word="gripping", start=2, end=10, relevance=2.0, drop=0.4),
        LabelWord(word="but", start=11, end=14, relevance=0.01, drop=0.0),
        LabelWord(word="slow", start=15, end=19, relevance=-0.5, drop=-0.04),
    ),
    method="replaced",
    start=Path("run/model"),
    replacements=10,
    covered=0.45,
    left_out=0,
    changes=5,
    flip=Flip(
        changes=(WordChange(word="gripping", by="dull", start=2, end=10),),
        text="a dull but slow film",
        labels=("negative",),
        probability=0.2,
    ),
    tokens_read=5,
    windows=1,
)


def page(result: ExplainedLabel, *, colour: bool = False) -> str:
    shades = {"force_terminal": True, "color_system": "standard"} if colour else {"no_color": True}
    console = Console(width=80, file=StringIO(), **shades)  # type: ignore[arg-type]
    console.print(draw_result(result))
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert colour or max(map(len, written.splitlines())) <= 80
    return written if colour else " ".join(written.split())


def test_words_are_marked_by_what_they_did_and_the_flip_stands_below() -> None:
    said = page(RESULT)
    assert "a ++gripping++ but -slow- film" in said
    assert "with one change it says negative (positive 20.0%): gripping → dull" in said
    assert "45% of what could stand there, by run/model" in said


def test_in_colour_no_signs_are_needed() -> None:
    said = page(RESULT, colour=True)
    assert "\x1b[1;32mgripping" in said and "\x1b[31mslow" in said and "++" not in said


def test_what_was_not_found_not_replaced_and_not_said_is_told() -> None:
    said = page(replace(RESULT, flip=None))
    assert "No change of at most 5 words was found that makes it say something else." in said
    assert "No change" not in page(replace(RESULT, flip=None, changes=0))
    said = page(replace(RESULT, method="hidden", start=None, notes=("the start is gone",), left_out=7, windows=3))
    assert "words are hidden by the mask and not replaced: the start is gone" in said
    assert "7 more words mattered less when hidden" in said and "read in 3 windows: 5 tokens" in said
    assert "(what is said: negative)" in page(replace(RESULT, labels=("negative",)))


def test_of_a_long_text_what_is_near_the_marked_words_is_drawn() -> None:
    text = "x " * 2000 + TEXT
    words = tuple(replace(word, start=word.start + 4000, end=word.end + 4000) for word in RESULT.words)
    said = page(replace(RESULT, text=text, words=words))
    assert "… " in said and "a ++gripping++ but -slow- film" in said and len(said) < 1500
