"""What a model finds likely, for people: scores, the surprisal of tokens.

In: `Scored`, `Rescored`, `Consistency`. Out: what a console of rich prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, title_line
from unmask.quantities import format_bar, with_interval
from unmask.results import Consistency, Rescored, Scored

MOST_BITS = 20.0  # as long as a bar can be
METHODS = {
    "pseudo": "pseudo-log-likelihood",
    "likelihood": "log-likelihood",
    "bound": "bound on the log-likelihood, from below",
}


def draw_scored(result: Scored) -> RenderableType:
    """The text, its score, and a bar for the surprisal of each token where asked for."""
    kind, _, stride = result.method.partition(",")
    error = f" ± {result.error:.2f}" if result.error is not None else ""
    line = Text.assemble(
        (f"{result.score:.2f}{error} nats", "bold green"),
        f"  {result.per_token:.3f} a token  {result.per_word:.3f} a word  {result.bits_per_byte:.3f} bits a byte",
    )
    notes = [f"{METHODS[kind]}{',' * bool(stride)}{stride}", f"{result.tokens:,} tokens", f"{result.words:,} words"]
    if result.windows > 1:
        notes.append(f"{result.windows:,} windows")
    if result.unknown:
        notes.append(f"{result.unknown:,} not in the vocabulary")
    if result.cut:
        notes.append(f"{result.cut:,} tokens were cut off")
    text = result.text if len(result.text) <= 300 else f"{result.text[:300]} …"
    sections: list[RenderableType] = [Text("\n").join([Text(text), line, Text(" · ".join(notes), style="dim")])]
    if result.surprisals:
        sections.append(_surprisals(result))
    return draw_page(*sections)


def _surprisals(result: Scored) -> Table:
    grid = Table(box=None, show_header=False, padding=(0, 1))
    for style, justify in (("bold", "left"), ("", "right"), ("yellow", "left")):
        grid.add_column(style=style, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for token in result.surprisals:
        share = min(1.0, token.bits / MOST_BITS)
        grid.add_row(Text(token.token), f"{token.bits:.2f} bits", format_bar(share))
    return grid


def draw_rescored(result: Rescored) -> RenderableType:
    """Before and after, and what the weight is."""
    rows = [
        ("by their own scores", *with_interval(result.before, ".1%")),
        ("by the model's alone", *with_interval(result.model_alone, ".1%")),
        ("by both", *with_interval(result.after, ".1%")),
        ("the best there is", f"{result.oracle:.1%}", ""),
        ("fewer errors, list by list", *with_interval(result.fewer_errors, ".1%")),
    ]
    halves = f"chosen on {result.tuned_on:,} lists and judged on the other {result.judged_on:,}"
    return draw_page(
        title_line("Rescored", result.path, f"weight {result.weight:.3g}, {halves}"),
        draw_table(("", result.measure, "95 % interval"), rows, numbers=(1, 2)),
    )


def draw_consistency(result: Consistency) -> RenderableType:
    """How far answers depend on the order of asking."""
    rows = [
        ("spread over orders", *with_interval(result.spread, ".3f")),
        ("best order beside the worst", *with_interval(result.widest, ".3f")),
        ("loss, mean over orders", *with_interval(result.loss, ".3f")),
        *((f"  {name}", *with_interval(figure, ".3f")) for name, figure in result.by_order.items()),
        ("loss, all at once", *with_interval(result.at_once, ".3f")),
    ]
    head = f"order of asking, {result.rows:,} rows, {result.tokens:,} tokens"
    return draw_table((head, "nats a token", "95 % interval"), rows, numbers=(1, 2))
