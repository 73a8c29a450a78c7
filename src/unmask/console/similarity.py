"""Models tuned to tell how alike texts are, and what they say, for people in a terminal.

In: results. Out: pages at 80 columns, without colour too.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, fact_line, next_commands, title_line
from unmask.console.tuning import BY_FOLDS, leak_notes, trial_sections, untrained_note, without_leaks
from unmask.quantities import format_bar, format_duration, with_interval
from unmask.results import JudgedSimilarity, Similarity, Tuned

FEW = 100  # test pairs, below which intervals are wide
SHOWN = 200  # characters of a text


def draw_tuned_similarity(result: Tuned) -> RenderableType:
    """A tuned model: what it learnt from, how well its cosines follow scores, and beside what."""
    moment = "the last" if result.step == result.steps else "the best on dev"
    rows = [
        ("learnt from", f"{result.train:,}", f"pairs with the score {result.fields['label']!r}"),
        ("held out (dev)", f"{result.dev:,}", f"Spearman {result.figures['spearman']:.3f}"),
        ("step", f"{result.step:,}", f"of {result.steps:,}, {moment}; lr {result.lr:.1e}, {result.precision}"),
    ]
    return draw_page(
        title_line("Tuned", result.model, f"to similarity; {format_duration(result.seconds)} of steps"),
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
    if isinstance(result.test, JudgedSimilarity):
        sections += _test_sections(result.test, "test pairs")
    if isinstance(result.folds, JudgedSimilarity):
        sections += [*_test_sections(result.folds, "pairs, by folds"), Padding(Text(BY_FOLDS), (0, 1))]
    if sections:
        return sections
    line = "No --test: what was chosen on dev looks better there than it is. Hold pairs out that nothing is chosen on."
    return [Padding(Text(line, style="yellow"), (0, 1))]


def _test_sections(test: JudgedSimilarity, what: str) -> list[RenderableType]:
    """The figures of test, and what to mind of them."""
    ways = [("this model", test.spearman, test.pearson), *((b.name, b.spearman, b.pearson) for b in test.baselines)]
    rows = [(name, *with_interval(rank, ".3f"), *with_interval(line, ".3f")) for name, rank, line in ways]
    heads = (f"on {test.examples:,} {what}", "Spearman", "95 % interval", "Pearson", "95 % interval")
    lines = without_leaks(test.leaked, test.examples, "Spearman", test.clean_spearman, ".3f")
    if test.empty:
        lines.append(f"{test.empty:,} test lines without text are left out.")
    if test.examples < FEW:
        lines.append(f"Only {test.examples:,} test pairs: the intervals say how little that tells.")
    lines.append(f"The pairs that are farthest off ({len(test.errors)}) are in tuned.json, to be read.")
    return [draw_table(heads, rows, numbers=(1, 2, 3, 4)), Padding(Text(" ".join(lines)), (0, 1))]


def draw_similarity(result: Similarity) -> RenderableType:
    """A pair and how alike its texts are."""
    share = (result.score - result.low) / (result.high - result.low) if result.high > result.low else 0.0
    rows = [
        ("cosine", f"{result.cosine:.3f}", format_bar(max(0.0, result.cosine))),
        ("score", f"{result.score:.2f}", f"{format_bar(share)}  of {result.low:g} to {result.high:g}"),
    ]
    reading = f"{result.tokens_read:,} tokens in {result.windows:,} windows"
    return draw_page(
        Text.assemble((result.text[:SHOWN], "bold"), "  |  ", (result.pair[:SHOWN], "bold")),
        draw_table(("", "", ""), rows, numbers=(1,)),
        *([Text(f"  {reading}")] * (result.windows > 2)),
    )
