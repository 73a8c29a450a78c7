"""Few labels learnt in several ways, for people in a terminal.

In: a `FewTuned`. Out: a page at 80 columns, without colour too.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, fact_line, next_commands, title_line
from unmask.quantities import with_interval
from unmask.results import FewMethod, FewTuned

ABOUT = {
    "head": "an ordinary classification head",
    "pairs": "pairs of texts, then a logistic regression on vectors (SetFit)",
    "patterns": "words in the blanks of patterns (PET)",
}
SHOWN = 5  # labels whose words are shown


def draw_few_tuned(result: FewTuned) -> RenderableType:
    """The ways side by side, with what their model is, and what was learnt from."""
    draws = len(result.methods[0].draws)
    detail = f"{result.few} examples a label, {len(result.labels):,} labels, {draws} draws"
    rows = [(name, about) for name, about in ABOUT.items() if name in {method.name for method in result.methods}]
    return draw_page(
        title_line("Tuned", result.model, detail),
        _methods_table(result),
        draw_table(("", ""), rows, numbers=()),
        *([_words(result)] if result.patterns else []),
        *(Padding(Text(line, style="yellow"), (0, 1)) for line in _to_mind(result)),
        Padding(Text(_kept(result)), (0, 1)),
        fact_line("sha256", result.weights_sha256),
        next_commands(result.next),
    )


def _methods_table(result: FewTuned) -> RenderableType:
    if result.test is None:
        return draw_table(("", "dev accuracy"), [(each.name, f"{each.dev:.1%}") for each in result.methods], (1,))
    heads = (f"on {result.test_examples:,} test texts", "accuracy", "95 % interval", "± draws", "macro F1", "dev")
    return draw_table(heads, [_method_row(method) for method in result.methods], numbers=(1, 2, 3, 4, 5))


def _method_row(method: FewMethod) -> tuple[str, ...]:
    assert method.accuracy is not None and method.macro_f1 is not None and method.deviation is not None
    figures = (*with_interval(method.accuracy, ".1%"), f"{method.deviation:.1%}", f"{method.macro_f1.value:.1%}")
    return (method.name, *figures, f"{method.dev:.1%}")


def _words(result: FewTuned) -> RenderableType:
    """The patterns, and the words that stand for labels."""
    words = [f"{label} → {', '.join(each)}" for label, each in result.verbalisers.items()]
    more = f"; and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    rows = [("patterns" if not number else "", pattern) for number, pattern in enumerate(result.patterns)]
    return draw_table(("", ""), [*rows, ("words", "; ".join(words[:SHOWN]) + more)], numbers=())


def _to_mind(result: FewTuned) -> list[str]:
    lines = list(result.notes)
    if result.test is None:
        lines.append("No --test: dev has as few texts as were learnt from, and chose the moment. Its figures flatter.")
    same = sum(overlap.exact for overlap in result.overlaps if overlap.source == "train")
    if same:
        lines.append(f"{same:,} of the test texts are among the examples that were drawn from: the figures flatter.")
    return lines


def _kept(result: FewTuned) -> str:
    return (
        f"The model is that of {result.best}, which did best on dev over all draws, from draw {result.draw}, its best "
        "there. Intervals are between draws."
    )
