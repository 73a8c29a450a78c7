"""The page of few labels, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from unmask.console.pages import draw_result
from unmask.results import FewDraw, FewMethod, FewTuned, Figure

DRAWS = tuple(FewDraw(draw=n, dev=0.8, dev_loss=0.5, accuracy=0.75, macro_f1=0.7, seconds=2.0) for n in (1, 2))
FIGURE = Figure(0.75, 0.7, 0.8)
RESULT = FewTuned(
    path=Path("few"),
    model=Path("few/model"),
    task="classify",
    start=Path("run/model"),
    labels=tuple(f"label {n}" for n in range(9)),
    fields={"text": "text"},
    few=16,
    methods=tuple(
        FewMethod(name=name, dev=0.8, accuracy=FIGURE, deviation=0.03, macro_f1=FIGURE, draws=DRAWS)
        for name in ("head", "pairs", "patterns")
    ),
    best="pairs",
    draw=2,
    patterns=("{text} It was [MASK].", "{text} In one word: [MASK]."),
    verbalisers={f"label {n}": (f"word{n}",) for n in range(9)},
    test=Path("test.jsonl"),
    test_examples=1821,
    next=("unmask predict few 'A text.'",),
    weights_sha256="0" * 64,
)


def page(result: FewTuned) -> str:
    console = Console(width=80, no_color=True, file=StringIO())
    console.print(draw_result(result))
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, written.splitlines())) <= 80
    return " ".join(written.split())


def test_the_ways_stand_side_by_side_with_what_was_kept() -> None:
    said = page(RESULT)
    assert "16 examples a label, 9 labels, 2 draws" in said and "on 1,821 test texts" in said
    assert said.count("70.0% – 80.0% 3.0%") == 3
    assert "The model is that of pairs, which did best on dev over all draws, from draw 2" in said
    assert "label 0 → word0" in said and "and 4 more" in said and "{text} It was [MASK]." in said


def test_what_is_to_be_minded_is_said() -> None:
    untested = [replace(method, accuracy=None, deviation=None, macro_f1=None) for method in RESULT.methods[:2]]
    said = page(replace(RESULT, test=None, methods=tuple(untested), patterns=(), notes=("no patterns: no head",)))
    assert "No --test: dev has as few texts" in said and "no patterns: no head" in said and "(PET)" not in said
