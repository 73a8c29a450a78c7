"""Pages of models that answer and of what they say, at 80 columns and without colour."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console, Group

from unmask.console.answering import answer_sections
from unmask.console.pages import draw_result
from unmask.results import Answered, AnswerError, Figure, JudgedAnswerBaseline, JudgedAnswers

FIGURE = Figure(0.8, 0.75, 0.85)


def page(result: object) -> str:
    console = Console(width=80, no_color=True, record=True, file=StringIO())
    console.print(result)
    return console.export_text()


def test_the_model_stands_beside_its_baselines_with_and_without_an_answer() -> None:
    judged = JudgedAnswers(
        data=Path("test.json"),
        examples=90,
        empty=1,
        repaired=2,
        f1=FIGURE,
        exact=FIGURE,
        answerable=60,
        answerable_f1=FIGURE,
        answerable_exact=FIGURE,
        unanswerable_right=FIGURE,
        baselines=(JudgedAnswerBaseline(name="sliding window", exact=FIGURE, f1=FIGURE),),
        errors=(AnswerError(id="1", question="?", said=None, true=("a",), probability=0.9),),
    )
    said = page(Group(*answer_sections(judged, "test questions")))
    flat = " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80 and "on 90 test questions" in flat
    for told in ("60 with an answer", "30 without one", "sliding window", "75.0% – 85.0%", "Only 90 test questions"):
        assert told in flat
    assert "stand elsewhere than the file says, repaired: 2." in flat and "1 test questions without words" in flat


def test_an_answer_stands_before_its_question_and_none_is_said() -> None:
    given = {"question": "Where?", "probability": 0.9, "tokens_read": 29_000, "windows": 460}
    said = page(draw_result(Answered(answer="in Bonn", start=1_200, end=1_207, no_answer=0.05, **given)))
    assert said.index("in Bonn") < said.index("Where?") and "characters 1,200–1,207; no answer 5.0%" in said
    assert "29,000 tokens in 460 windows" in " ".join(said.split())
    none = page(draw_result(Answered(answer=None, start=None, end=None, no_answer=0.9, **given)))
    assert "no answer in the context" in none and "probability 90.0%" in none
