"""Models tuned to find documents, and what they say, for people in a terminal.

In: results. Out: pages at 80 columns, without colour too.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, fact_line, next_commands, title_line
from unmask.console.tuning import BY_FOLDS, leak_notes, trial_sections, untrained_note, without_leaks
from unmask.quantities import format_duration, with_interval
from unmask.results import Expanded, JudgedRetrieval, Relevance, RetrievalWay, Tuned

FEW = 50  # queries, below which intervals are wide
SHOWN = 200  # characters of a text
WORDS = 15  # of each kind that are shown


def draw_tuned_retrieval(result: Tuned) -> RenderableType:
    """A tuned model: what it learnt from, how well it finds, and beside what."""
    moment = "the last" if result.step == result.steps else "the best on dev"
    rows = [
        ("learnt from", f"{result.train:,}", "queries"),
        ("held out (dev)", f"{result.dev:,}", f"nDCG@10 {result.figures['ndcg_10']:.3f}"),
        ("step", f"{result.step:,}", f"of {result.steps:,}, {moment}; lr {result.lr:.1e}, {result.precision}"),
    ]
    return draw_page(
        title_line("Tuned", result.model, f"to retrieve; {format_duration(result.seconds)} of steps"),
        draw_table(("", "", ""), rows, numbers=(1,)),
        *untrained_note(result),
        *trial_sections(result, ".3f"),
        *_judged_sections(result),
        *leak_notes(result),
        fact_line("sha256", result.weights_sha256),
        next_commands(result.next),
    )


def _judged_sections(result: Tuned) -> list[RenderableType]:
    """What is known of it beyond dev: by test, by folds, or nothing."""
    sections: list[RenderableType] = []
    if isinstance(result.test, JudgedRetrieval):
        sections += _test_sections(result.test)
    if isinstance(result.folds, JudgedRetrieval):
        sections += [*_test_sections(result.folds), Padding(Text(BY_FOLDS), (0, 1))]
    if sections:
        return sections
    line = "No test queries: what was chosen on dev looks better there than it is. --folds 3 judges every query."
    return [Padding(Text(line, style="yellow"), (0, 1))]


def _test_sections(test: JudgedRetrieval) -> list[RenderableType]:
    """The figures of all ways of searching, and what to mind of them."""
    ways: list[tuple[str, JudgedRetrieval | RetrievalWay]] = [
        ("this model", test),
        *((way.name, way) for way in test.baselines),
    ]
    rows = [
        (name, *with_interval(way.ndcg_10, ".3f"), f"{way.mrr_10.value:.3f}", f"{way.recall_100.value:.3f}")
        for name, way in ways
    ]
    heads = (f"on {test.queries:,} queries", "nDCG@10", "95 % interval", "MRR@10", "recall@100")
    lines = [f"Searched among {test.documents:,} documents."]
    lines += without_leaks(test.leaked, test.queries, "nDCG@10", test.clean_ndcg_10, ".3f")
    if test.queries < FEW:
        lines.append(f"Only {test.queries:,} queries: the intervals say how little that tells.")
    lines.append(f"The queries that are answered worst ({len(test.errors)}) are in tuned.json, to be read.")
    return [draw_table(heads, rows, numbers=(1, 2, 3, 4)), Padding(Text(" ".join(lines)), (0, 1))]


def draw_expanded(result: Expanded) -> RenderableType:
    """A text, the words of it that weigh most, and those that it gained."""
    parts = [("has", False), ("gained", True)]
    rows = []
    for name, gained in parts:
        words = [f"{each.word} {each.weight:.2f}" for each in result.words if each.gained == gained][:WORDS]
        rows.append((name, "  ".join(words) or "none"))
    table = Table.grid(padding=(0, 2))
    for name, words_line in rows:
        table.add_row(Text(f"  {name}", style="dim"), Text(words_line))
    return draw_page(
        Text.assemble((result.text[:SHOWN], "bold"), f"  {result.active:,} words have a weight"),
        table,
    )


def draw_relevance(result: Relevance) -> RenderableType:
    """A query and a passage, and how well that answers."""
    return Text.assemble(
        (f"{result.score:.3f}  ", "bold green"), (result.text[:SHOWN], "bold"), "  |  ", result.pair[:SHOWN], "\n"
    )
