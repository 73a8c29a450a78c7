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

from unmask.console.dashboard import draw_plan, draw_run, draw_runs
from unmask.console.drawing import draw, draw_audit, legend
from unmask.console.layout import fact, headline, next_command, page, table
from unmask.quantities import bar, brief, duration, size
from unmask.results import (
    Audited,
    Band,
    Collocated,
    Comparison,
    Contender,
    Demonstrated,
    Evaluated,
    Figure,
    Filled,
    Guess,
    Listed,
    Planned,
    Prepared,
    Shown,
    Trained,
    Verified,
    Watched,
)

FEW = 20  # documents, below which an interval that knows documents is not to be believed
BEST = 30  # collocations that are shown
LEFT_OUT = {
    "malformed": "malformed, in quarantine.jsonl",
    "empty": "left out: empty",
    "short": "left out: too short",
    "duplicate": "left out: exact duplicates",
    "train": "to train on",
    "valid": "held out to measure on",
}


def pages(result: object) -> Iterator[RenderableType]:
    """What a console prints for a result, or for a list of them one after the other."""
    results = result if isinstance(result, list) else [result]
    yield from map(drawn, results)
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
def drawn(result: object) -> RenderableType:
    """What a console prints for a result."""
    raise TypeError(f"nothing draws a {type(result).__name__}")


@drawn.register
def _(result: Prepared) -> RenderableType:
    rows = [("files", f"{result.files:,}", size(result.bytes_read))]
    rows += [(f"documents {LEFT_OUT.get(name, name)}", f"{count:,}", "") for name, count in result.counts.items()]
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


@drawn.register
def _(result: Verified) -> RenderableType:
    found = f"{len(result.damage)} damaged" if result.damage else "nothing damaged"
    head = headline("Verified", result.path, f"{result.files:,} files, {size(result.bytes)}: {found}")
    return page(head, *(Text(f"  {line}", style="red") for line in result.damage))


@drawn.register
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


@drawn.register
def _(result: Evaluated) -> RenderableType:
    rows = [
        ("loss, nats a token", *_interval(result.loss, ".3f"), f"{result.unigram_loss:.3f}  unigram"),
        ("perplexity", *_interval(result.perplexity, ",.1f"), ""),
        (
            "top-1 accuracy",
            *_interval(result.top1, ".1%"),
            f"{result.most_frequent_top1:.1%}  most frequent token",
        ),
        ("top-5 accuracy", *_interval(result.top5, ".1%"), ""),
        ("bits per byte", *_interval(result.bits_per_byte, ".3f"), ""),
        ("context bits", *_interval(result.context_bits, ".3f"), ""),
    ]
    return page(
        headline("Evaluated", Path(result.model), f"on {result.positions:,} hidden tokens of {result.data}"),
        table(("", "value", "95 % interval", "baseline"), rows, numbers=(1, 2)),
        _bands("what the model saw there", result.by_kind),
        _bands("how frequent the word is", result.by_frequency),
        Padding(Text(_explained(result.context_bits.value)), (0, 1)),
        *_few(result.documents),
    )


@drawn.register
def _(result: Filled) -> RenderableType:
    parts: list[RenderableType] = [_completed(result)]
    several = len(result.blanks) > 1
    for number, guesses in enumerate(result.blanks, start=1):
        parts.append(_guesses(guesses, f"blank {number}" if several else ""))
    return page(*parts)


@drawn.register
def _(result: Shown) -> RenderableType:
    return Coloured(lambda width, colour: draw(result, width=width, colour=colour))


@drawn.register
def _(result: Audited) -> RenderableType:
    return Coloured(lambda width, colour: draw_audit(result, colour=colour))


@drawn.register
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


drawn.register(Planned, draw_plan)


@drawn.register
def _(result: Comparison) -> RenderableType:
    budget = ", ".join(f"{value:,.10g} {name}" for name, value in result.budget.items())
    return page(
        headline("Compared", result.path, f"on {result.data}, {budget} each, seed {result.seed}"),
        *(table(heads, rows, numbers=tuple(range(1, len(heads)))) for heads, rows in compared(result)),
        Padding(Text(NOT_DEFINED), (0, 1)),
        fact("plot", str(result.plot)),
        next_command(f"unmask runs {result.path}"),
    )


NOT_DEFINED = (
    "– is not defined: a model that restores no masks has no masked loss, and one that gives a text no probability no "
    "bits for it. One seed each: intervals know the text that was measured on, not another training."
)


def compared(result: Comparison) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """The tables of a comparison: how it was trained, what it restores, what its vectors tell."""
    all_ = result.contenders
    yield (
        ("recipe", "parameters", "steps", "tokens", "time", "tokens/s"),
        [
            (
                each.recipe,
                brief(each.parameters),
                f"{each.steps:,}",
                brief(each.tokens),
                duration(each.seconds),
                f"{each.tokens_per_second:,.0f}",
            )
            for each in all_
        ],
    )
    yield (
        ("", "masked loss", "masked accuracy", "text, bits a byte"),
        [
            (each.recipe, _known(each.masked_loss, ".2f"), _known(each.masked_accuracy, ".1%"), _text_bits(each))
            for each in all_
        ],
    )
    for name, first in all_[0].probes.items():
        measure = "accuracy" if first.kind == "classification" else "F1 of tags"
        rows: list[tuple[str, ...]] = [
            (each.recipe, _known(probed.score, ".1%"), _known(probed.untrained, ".1%"), f"{probed.majority:.1%}")
            for each in all_
            for probed in (each.probes[name],)
        ]
        yield (f"probe {name}", measure, "before training", "most frequent"), rows


def _text_bits(each: Contender) -> str:
    known = _known(each.text_bits_per_byte, ".3f")
    return f"≤ {known}" if each.text_bound and each.text_bits_per_byte else known


def _known(figure: Figure | None, form: str) -> str:
    """A figure with its interval in one cell."""
    if figure is None:
        return "–"
    value, interval = _interval(figure, form)
    return f"{value} ({interval.replace(' – ', '–')})"


drawn.register(Listed, draw_runs)
drawn.register(Watched, draw_run)


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


@drawn.register
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


def _interval(figure: Figure, form: str) -> tuple[str, str]:
    known = isfinite(figure.low) and isfinite(figure.high)  # one document alone tells no interval
    return f"{figure.value:{form}}", f"{figure.low:{form}} – {figure.high:{form}}" if known else "unknown"


def _bands(title: str, bands: dict[str, Band]) -> Table:
    rows = [
        (name, f"{band.positions:,}", f"{band.loss.value:.3f}", *_interval(band.top1, ".1%"))
        for name, band in bands.items()
    ]
    return table((title, "hidden", "loss", "top-1", "95 % interval"), rows, numbers=(1, 2, 3, 4))
