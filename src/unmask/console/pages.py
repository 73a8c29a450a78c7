"""Results for people: what the verbs give back, as tables of rich.

In: a result of `unmask.results`. Out: something a console prints, at 80 columns and without colour too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from math import isfinite
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask.console.documents import documents
from unmask.console.hiding import draw_audit, draw_shown, legend
from unmask.console.layout import fact, headline, next_command, page, table
from unmask.console.plan import draw_plan
from unmask.console.runs import draw_run, draw_runs
from unmask.evaluation.comparison_tables import comparison_tables
from unmask.quantities import bar, duration, size, with_interval
from unmask.results import (
    Audited,
    Breakdown,
    Collocated,
    Comparison,
    Demonstrated,
    Evaluated,
    Filled,
    Guess,
    Planned,
    Prepared,
    RunList,
    RunStatus,
    Shown,
    Trained,
    Verified,
)

FEW = 20  # documents, below which an interval that knows documents is not to be believed
BEST = 30  # collocations that are shown


def pages(result: object) -> Iterator[RenderableType]:
    """What a console prints for a result, or for a list of them one after the other."""
    results = result if isinstance(result, list) else [result]
    yield from map(draw, results)
    if any(isinstance(each, Shown) for each in results):
        yield Coloured(lambda width, colour: legend(colour=colour))


@dataclass(frozen=True)
class Coloured:
    """Text that is drawn another way where there is no colour."""

    draw: Callable[[int, bool], Text]  # (width, colour)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Draw it for this console."""
        yield self.draw(options.max_width, console.color_system is not None and not console.no_color)


@singledispatch
def draw(result: object) -> RenderableType:
    """What a console prints for a result."""
    raise TypeError(f"nothing draws a {type(result).__name__}")


@draw.register
def _(result: Prepared) -> RenderableType:
    rows = [("files", f"{result.files:,}", size(result.bytes_read))]
    rows += [(f"documents {what}", f"{count:,}", "") for what, count in documents(result)]
    rows += [(f"tokens in {split}", f"{count:,}", "") for split, count in result.tokens.items()]
    for split, kinds in result.spans.items():
        rows += [(f"spans in {split}: {kind}", f"{count:,}", "") for kind, count in kinds.items()]
    rows.append(("vocabulary", f"{result.vocabulary:,}", result.tokenizer))
    return page(
        headline("Prepared", result.path, duration(result.seconds)),
        table(("", "", ""), rows, numbers=(1,)),
        *_first_malformed(Path(result.path) / "quarantine.jsonl"),
        fact("fingerprint", result.fingerprint),
        next_command(f"unmask pretrain {result.path} --out run --minutes 10"),
    )


def _first_malformed(quarantine: Path) -> list[Text]:
    """Why the first malformed line was left out: often the others were for the same reason."""
    if not quarantine.is_file():
        return []
    with quarantine.open(encoding="utf-8") as file:
        first = json.loads(file.readline())
    return [Text(f"  first malformed  {first['source']}:{first['line']}: {first['reason']}", style="yellow")]


@draw.register
def _(result: Verified) -> RenderableType:
    found = f"{len(result.damage)} damaged" if result.damage else "nothing damaged"
    head = headline("Verified", result.path, f"{result.files:,} files, {size(result.bytes)}: {found}")
    return page(head, *(Text(f"  {line}", style="red") for line in result.damage))


@draw.register
def _(result: Trained) -> RenderableType:
    rows = [
        ("recipe", result.recipe),
        ("parameters", f"{result.parameters:,}"),
        ("steps", f"{result.steps:,}"),
        ("tokens seen", f"{result.tokens:,}"),
        ("validation loss", f"{result.loss:.3f}"),
        *([("masked accuracy" if result.fills else "accuracy", f"{result.accuracy:.1%}")] * isfinite(result.accuracy)),
        *((name.replace("_", " "), f"{value:.3f}") for name, value in result.figures.items() if name != "accuracy"),
    ]
    use = [next_command(f'unmask fill {result.path} "The capital of France is [MASK]."')] * result.fills
    return page(
        headline("Trained", result.model, duration(result.seconds)),
        table(("", ""), rows, numbers=(1,)),
        fact("sha256", result.weights_sha256),
        *use,
    )


@draw.register
def _(result: Evaluated) -> RenderableType:
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
    return page(
        headline("Evaluated", Path(result.model), f"on {result.positions:,} hidden tokens of {result.data}"),
        table(("", "value", "95 % interval", "baseline"), rows, numbers=(1, 2)),
        _breakdowns("what the model saw there", result.by_kind),
        _breakdowns("how frequent the word is", result.by_frequency),
        Padding(Text(_explained(result.context_bits.value)), (0, 1)),
        *_few(result.documents),
    )


@draw.register
def _(result: Filled) -> RenderableType:
    parts: list[RenderableType] = [_completed(result)]
    several = len(result.blanks) > 1
    for number, guesses in enumerate(result.blanks, start=1):
        parts.append(_guesses(guesses, f"blank {number}" if several else ""))
    return page(*parts)


@draw.register
def _(result: Shown) -> RenderableType:
    return Coloured(lambda width, colour: draw_shown(result, width=width, colour=colour))


@draw.register
def _(result: Audited) -> RenderableType:
    return Coloured(lambda width, colour: draw_audit(result, colour=colour))


@draw.register
def _(result: Collocated) -> RenderableType:
    best = result.phrases[:BEST]
    rows = [(phrase.text, f"{phrase.count:,}", f"{phrase.score:.2f}") for phrase in best]
    found = f"{len(result.phrases):,} collocations, the best {len(best)} of them" if best else "no collocation"
    list_ = result.path or "phrases.txt"
    train = f"unmask pretrain {result.data} --out run --policy collocation --phrases {list_} --minutes 10"
    mine = f"unmask collocations {result.data} --out {list_}"
    return page(
        headline("Found", result.path or result.data, f"{found}; {duration(result.seconds)}"),
        *([table(("", "count", "score"), rows, numbers=(1, 2))] if best else []),
        next_command(train if result.path else mine),
    )


draw.register(Planned, draw_plan)


@draw.register
def _(result: Comparison) -> RenderableType:
    budget = ", ".join(f"{value:,.10g} {name}" for name, value in result.budget.items())
    return page(
        headline("Compared", result.path, f"on {result.data}, {budget} each, seed {result.seed}"),
        *(table(heads, rows, numbers=tuple(range(1, len(heads)))) for heads, rows in comparison_tables(result)),
        Padding(Text(NOT_DEFINED), (0, 1)),
        fact("plot", str(result.plot)),
        next_command(f"unmask runs {result.path}"),
    )


NOT_DEFINED = (
    "– is not defined: a model that restores no masks has no masked loss, and one that gives a text no probability no "
    "bits for it. One seed each: intervals know the text that was measured on, not another training."
)


draw.register(RunList, draw_runs)
draw.register(RunStatus, draw_run)


def _few(documents: int) -> list[RenderableType]:
    """A warning where intervals and entropies rest on too little text to be believed."""
    if documents >= FEW:
        return []
    line = f"Only {documents} held-out documents: intervals are too narrow, context bits too low; hold out more text."
    return [Padding(Text(line, style="yellow"), (0, 1))]


def _explained(bits: float) -> str:
    """What context bits say."""
    meaning = "Context bits are the unigram entropy of the hidden tokens minus the loss."
    if bits <= 0:
        return f"{meaning} This model does no better than the frequencies of the tokens alone."
    return (
        f"{meaning} The context tells at least {bits:.2f} bits about a hidden token: a lower bound, "
        "for a better model would get more out of the same context."
    )


@draw.register
def _(result: Demonstrated) -> RenderableType:
    data, run = result.prepared.path, result.trained.path
    return page(
        next_command(f'unmask fill {run} "The function returns a [MASK] of strings."'),
        next_command(f"unmask evaluate {run} {data}"),
        next_command("unmask prepare my_texts/ --out my_data"),
        next_command("unmask pretrain my_data --out my_run --minutes 10"),
    )


def _completed(result: Filled) -> Text:
    """The completed text, the filled words standing out."""
    text = Text(result.completed)
    for start, end in result.places:
        text.stylize("bold green underline", start, end)
    return text


def _guesses(guesses: Iterable[Guess], title: str) -> Table:
    table = Table(box=None, show_header=False, title=title or None, title_justify="left", padding=(0, 1))
    for style, justify in (("bold", "left"), ("", "right"), ("green", "left")):
        table.add_column(style=style, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for guess in guesses:
        table.add_row(Text(guess.token), f"{guess.probability:.1%}", bar(guess.probability))
    return table


def _breakdowns(title: str, parts: dict[str, Breakdown]) -> Table:
    rows = [
        (name, f"{part.positions:,}", f"{part.loss.value:.3f}", *with_interval(part.top1, ".1%"))
        for name, part in parts.items()
    ]
    return table((title, "hidden", "loss", "top-1", "95 % interval"), rows, numbers=(1, 2, 3, 4))
