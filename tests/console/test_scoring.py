from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import Figure, ProbedPhenomenon, ProbeResult, Rescored, Scored, TokenSurprisal


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


def probed(**changes: object) -> ProbeResult:
    phenomenon = ProbedPhenomenon(items=22, accuracy=Figure(0.5, 0.3, 0.7), chance=0.5, ties=0, unscorable=0)
    settings: dict[str, object] = {
        "model": Path("run"),
        "items": Path("items.jsonl"),
        "method": "pseudo",
        "overall": replace(phenomenon, items=44),
        "mean": 0.5,
        "phenomena": {"selectional restriction": phenomenon, "case": phenomenon},
        "exact": 44,
    }
    return ProbeResult(**(settings | changes))  # type: ignore[arg-type]


def test_a_probe_shows_each_phenomenon_beside_chance() -> None:
    page = drawn(probed())
    assert "selectional restriction" in page and "all items" in page and "30.0% – 70.0%" in page
    assert "no ties, every item has a score" in " ".join(page.split())
    assert max(map(len, page.splitlines())) <= 80


def test_ties_items_without_a_score_and_what_a_stride_decided_are_shown() -> None:
    page = drawn(probed())
    assert "ties, no score" not in page
    one = ProbedPhenomenon(items=22, accuracy=Figure(0.5, 0.3, 0.7), chance=0.5, ties=2, unscorable=3)
    page = drawn(probed(overall=one, phenomena={"case": one}, exact=10))
    assert "ties, no score" in page and "2, 3" in page and "10 of 19 were scored exactly" in " ".join(page.split())


def test_rescoring_shows_before_and_after() -> None:
    figure = Figure(0.25, 0.2, 0.3)
    settings = dict.fromkeys(("before", "after", "model_alone", "fewer_errors"), figure)
    result = Rescored(
        path=Path("nbest.jsonl"),
        method="pseudo",
        measure="word error rate",
        tuned_on=50,
        judged_on=49,
        weight=0.125,
        oracle=0.1,
        choices=(0, 1),
        **settings,
    )
    page = drawn(result)
    assert "weight 0.125, chosen on 50 lists and judged on the other 49" in " ".join(page.split())
    assert "word error rate" in page and "20.0% – 30.0%" in page
