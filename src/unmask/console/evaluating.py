"""What a run came to and what a model knows of held-out text, for people.

In: a result of `unmask.results`. Out: its page.
"""

from __future__ import annotations

from itertools import islice
from math import isfinite, log
from pathlib import Path

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, fact_line, next_command, next_commands, title_line
from unmask.console.scoring import draw_consistency
from unmask.evaluation.comparison_tables import comparison_tables
from unmask.quantities import format_duration, with_interval
from unmask.results import Breakdown, Comparison, Dependence, Evaluated, Trained

FEW_DOCUMENTS = 20  # documents, below which an interval that knows documents is not to be believed
MOST_GROUPS = 12  # languages or sources that are shown; JSON has all
NOT_DEFINED = (
    "– is not known or not defined: a model that restores no masks has no masked loss, and one that gives a text no "
    "probability no bits for it. One seed each: intervals know the text that was measured on, not another training."
)


def draw_trained(result: Trained) -> RenderableType:
    """What a run came to."""
    rows = [
        ("recipe", result.recipe),
        ("parameters", f"{result.parameters:,}"),
        ("steps", f"{result.steps:,}"),
        ("tokens seen", f"{result.tokens:,}"),
        ("precision", result.precision),
        ("validation loss", f"{result.loss:.3f}"),
        *([("masked accuracy" if result.fills else "accuracy", f"{result.accuracy:.1%}")] * isfinite(result.accuracy)),
        *((name.replace("_", " "), f"{value:.3f}") for name, value in result.figures.items() if name != "accuracy"),
    ]
    return draw_page(
        title_line("Trained", result.model, f"{format_duration(result.seconds)} of steps"),
        draw_table(("", ""), rows, numbers=(1,)),
        fact_line("sha256", result.weights_sha256),
        *([next_commands(result.next)] if result.next else []),
    )


def draw_evaluated(result: Evaluated) -> RenderableType:
    """What a model knows of held-out text, beside what needs no model."""
    rows = [
        ("loss, nats a token", *with_interval(result.loss, ".3f"), f"{result.unigram_loss:.3f}  unigram"),
        ("perplexity", *with_interval(result.perplexity, ",.1f"), ""),
        (
            "top-1 accuracy",
            *with_interval(result.top1, ".1%"),
            f"{result.most_frequent_top1:.1%}  most frequent token",
        ),
        ("top-5 accuracy", *with_interval(result.top5, ".1%"), ""),
        ("bits per byte", *with_interval(result.bits_per_byte, ".3f"), ""),
        ("context bits", *with_interval(result.context_bits, ".3f"), ""),
    ]
    if result.calibration is not None:
        sure = f"{result.calibration.confidence:.1%}  how sure it is"
        rows.append(("calibration error", *with_interval(result.calibration.error, ".1%"), sure))
    return draw_page(
        title_line("Evaluated", Path(result.model), f"on {result.positions:,} hidden tokens of {result.data}"),
        draw_table(("", "value", "95 % interval", "baseline"), rows, numbers=(1, 2)),
        _breakdowns("what the model saw there", result.by_kind),
        _breakdowns("how frequent the word is", result.by_frequency),
        *([_breakdowns("language", result.by_language)] if result.by_language else []),
        *([_breakdowns("source", result.by_source)] if result.by_source else []),
        *([] if result.consistency is None else [draw_consistency(result.consistency)]),
        *([] if result.dependence is None else [_dependence(result.dependence)]),
        Padding(Text(_context_bits_meaning(result)), (0, 1)),
        *_few_documents(result.documents),
        *(Padding(Text(f"{note[0].upper()}{note[1:]}.", style="yellow"), (0, 1)) for note in result.notes),
    )


def _breakdowns(title: str, breakdowns: dict[str, Breakdown]) -> Table:
    rows = [
        (name, f"{breakdown.positions:,}", f"{breakdown.loss.value:.3f}", *with_interval(breakdown.top1, ".1%"))
        for name, breakdown in islice(breakdowns.items(), MOST_GROUPS)
    ]
    return draw_table((title, "hidden", "loss", "top-1", "95 % interval"), rows, numbers=(1, 2, 3, 4))


def _dependence(found: Dependence) -> RenderableType:
    """What knowing of each other brings to what is hidden."""
    rows = [
        ("each on its own", *with_interval(found.independent, ".3f")),
        ("one after another", *with_interval(found.dependent, ".3f")),
        ("what that brings", *with_interval(found.gain, ".3f")),
    ]
    return draw_table(("how hidden tokens are predicted", "loss", "95 % interval"), rows, numbers=(1, 2))


def _few_documents(count: int) -> list[RenderableType]:
    """A warning where intervals and entropies rest on too little text to be believed."""
    from unmask.tokens.advice import FEW

    if count >= FEW:
        return []
    line = f"Only {count} held-out documents: intervals are wide; prepare with more text or a larger --valid."
    if count < FEW_DOCUMENTS:
        line = f"Only {count} held-out documents: intervals are too narrow, context bits too low; hold out more text."
    return [Padding(Text(line, style="yellow"), (0, 1))]


def _context_bits_meaning(result: Evaluated) -> str:
    """What context bits say; a sample's own entropy is too low an estimate where it has few tokens."""
    bits, saved = result.context_bits.value, (result.unigram_loss - result.loss.value) / log(2)
    meaning = "Context bits are the unigram entropy of the hidden tokens minus the loss."
    if bits <= 0 < saved:
        return (
            f"{meaning} Of so few tokens that entropy comes out too low for them to say anything; beside the "
            f"frequencies of the training text (unigram) the model saves {saved:.2f} bits a token."
        )
    if bits <= 0:
        return f"{meaning} This model does no better than the frequencies of the tokens alone."
    return (
        f"{meaning} The context tells at least {bits:.2f} bits about a hidden token: a lower bound, "
        "for a better model would get more out of the same context."
    )


def draw_comparison(result: Comparison) -> RenderableType:
    """Runs beside each other."""
    budget = "".join(f"{value:,.10g} {name} each, " for name, value in result.budget.items())
    return draw_page(
        title_line("Compared", result.path, f"on {result.data}, {budget}seed {result.seed}"),
        *(draw_table(heads, rows, numbers=tuple(range(1, len(heads)))) for heads, rows in comparison_tables(result)),
        *(Padding(Text(note, style="yellow"), (0, 1)) for note in result.notes),
        Padding(Text(NOT_DEFINED), (0, 1)),
        fact_line("plot", str(result.plot)),
        *([next_command(f"unmask runs {result.path}")] if any(run.trained_here for run in result.runs) else []),
    )
