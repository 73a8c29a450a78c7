"""What a model finds likely, for people: scores, the surprisal of tokens.

In: `Scored`, `Rescored`, `Consistency`, `ProbeResult`. Out: what a console of rich prints, at 80 columns and without
colour too.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, title_line
from unmask.quantities import format_bar, with_interval
from unmask.results import Consistency, ProbedPhenomenon, ProbeResult, Rescored, Scored

BUILT_IN = "probe_items.jsonl"
MOST_BITS = 20.0  # as long as a bar can be
METHODS = {
    "pseudo": "pseudo-log-likelihood",
    "likelihood": "log-likelihood",
    "bound": "bound on the log-likelihood, from below",
    "spans": "pseudo-log-likelihood, words spelt by the decoder",
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


def draw_probe(result: ProbeResult) -> RenderableType:
    """Accuracy by phenomenon, and of all items."""
    phenomena = dict(result.phenomena)
    if len(phenomena) > 1:
        phenomena["all items"] = result.overall
    counted = result.overall.ties + result.overall.unscorable > 0
    heads = ("", "items", "accuracy", "95 % interval", "chance", *(["ties, no score"] * counted))
    notes = [f"by {METHODS[result.method]}"]
    if len(result.phenomena) > 1 and result.mean is not None:
        notes.append(f"mean over phenomena {result.mean:.1%}")
    if not counted:
        notes.append("no ties, every item has a score")
    scored = result.overall.items - result.overall.unscorable
    if result.exact < scored:
        notes.append(f"{result.exact:,} of {scored:,} were scored exactly, the others were clear with the stride")
    if result.out is not None:
        notes.append(f"each item is in {result.out}")
    rows = [_phenomenon_row(name, phenomenon, counted) for name, phenomenon in phenomena.items()]
    of = "that are built in" if result.items.name == BUILT_IN else f"of {result.items}"
    return draw_page(
        title_line("Probed", result.model, f"on {result.overall.items:,} items {of}"),
        draw_table(heads, rows, numbers=tuple(range(1, len(heads)))),
        Padding(Text(" · ".join(notes)), (0, 1)),
    )


def _phenomenon_row(name: str, phenomenon: ProbedPhenomenon, counted: bool) -> tuple[str, ...]:
    accuracy = ("–", "") if phenomenon.items == phenomenon.unscorable else with_interval(phenomenon.accuracy, ".1%")
    counts = [f"{phenomenon.ties:,}, {phenomenon.unscorable:,}"] * counted
    return (name, f"{phenomenon.items:,}", *accuracy, f"{phenomenon.chance:.0%}", *counts)
