"""Models that answer questions and what they say, for people in a terminal.

In: results. Out: parts of pages at 80 columns, without colour too.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table
from unmask.quantities import format_probability, with_interval
from unmask.results import Answered, JudgedAnswers

FEW = 100  # questions, below which one more or less moves a figure by a point


def answer_sections(test: JudgedAnswers, what: str) -> list[RenderableType]:
    """The figures of test, and what to mind."""
    ways = [("this model", test.exact, test.f1)]
    if test.unanswerable_right is not None:
        count = test.examples - test.answerable
        ways.append((f"  {test.answerable:,} with an answer", test.answerable_exact, test.answerable_f1))
        ways.append((f"  {count:,} without one", test.unanswerable_right, test.unanswerable_right))
    ways += [(way.name, way.exact, way.f1) for way in test.baselines]
    rows = [(name, *with_interval(exact, ".1%"), *with_interval(f1, ".1%")) for name, exact, f1 in ways]
    heads = (f"on {test.examples:,} {what}", "exact", "95 % interval", "F1", "95 % interval")
    notes = _answer_notes(test)
    return [
        draw_table(heads, rows, numbers=(1, 2, 3, 4)),
        *([Padding(Text(" ".join(notes)), (0, 1))] if notes else []),
    ]


def _answer_notes(test: JudgedAnswers) -> list[str]:
    """What to mind of the figures."""
    lines = []
    if test.repaired:
        lines.append(f"Test answers that stand elsewhere than the file says, repaired: {test.repaired:,}.")
    if test.empty:
        lines.append(f"{test.empty:,} test questions without words are left out.")
    if test.examples < FEW:
        lines.append(f"Only {test.examples:,} test questions: each of them moves the figures by more than a point.")
    if test.calibration_error is not None:
        lines.append(f"How sure it is and how often it is right differ by {test.calibration_error:.1%} on average.")
    if test.errors:
        lines.append(f"The surest errors ({len(test.errors)}) are in tuned.json, to be read: some may be the file's.")
    return lines


def draw_answered(result: Answered) -> RenderableType:
    """A question and its answer, with how sure it is."""
    answer = ("no answer in the context", "yellow") if result.answer is None else (result.answer, "bold green")
    where = "" if result.start is None else f", characters {result.start:,}–{result.end:,}"
    facts = f"probability {format_probability(result.probability)}{where}"
    if result.no_answer is not None and result.answer is not None:
        facts += f"; no answer {format_probability(result.no_answer)}"
    if result.windows > 1:
        facts += f"; {result.tokens_read:,} tokens in {result.windows:,} windows"
    return draw_page(Text.assemble(answer, "  ", result.question), Text(f"  {facts}"))
