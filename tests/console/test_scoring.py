from __future__ import annotations

import io

import pytest
from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import Scored, TokenSurprisal


def drawn(result: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, no_color=True)
    console.print(draw_result(result))
    return console.file.getvalue()  # type: ignore[attr-defined]


def scored(**changes: object) -> Scored:
    settings: dict[str, object] = {
        "text": "The dog barks.",
        "method": "pseudo",
        "score": -12.345,
        "per_token": -3.086,
        "per_word": -3.086,
        "bits_per_byte": 1.272,
        "tokens": 4,
        "words": 4,
        "tokens_read": 4,
        "windows": 1,
    }
    return Scored(**(settings | changes))  # type: ignore[arg-type]


def test_a_score_says_what_it_is_and_fits_a_terminal() -> None:
    page = drawn(scored())
    assert "-12.35 nats" in page or "-12.34 nats" in page
    assert "pseudo-log-likelihood · 4 tokens · 4 words" in page
    assert max(map(len, page.splitlines())) <= 80
    assert "cut off" not in page and "windows" not in page


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"method": "pseudo, stride 4"}, "pseudo-log-likelihood, stride 4"),
        ({"method": "bound", "error": 0.5}, "± 0.50 nats"),
        ({"windows": 3}, "3 windows"),
        ({"cut": 12}, "12 tokens were cut off"),
        ({"unknown": 2}, "2 not in the vocabulary"),
    ],
)
def test_what_is_to_be_minded_is_said(changes: dict[str, object], line: str) -> None:
    assert line in drawn(scored(**changes))


def test_the_more_surprising_token_has_the_longer_bar() -> None:
    tokens = (TokenSurprisal("dog", 4, 7, 3.0), TokenSurprisal("barks", 8, 13, 9.0))
    rows = [line for line in drawn(scored(surprisals=tokens)).splitlines() if "bits" in line and "█" in line]
    assert rows[0].count("█") < rows[1].count("█") and "9.00 bits" in rows[1]
