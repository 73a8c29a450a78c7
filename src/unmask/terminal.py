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

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask.drawing import draw, draw_audit, legend
from unmask.results import (
    Audited,
    Band,
    Collocated,
    Demonstrated,
    Evaluated,
    Figure,
    Filled,
    Guess,
    Prepared,
    Shown,
    Trained,
    Verified,
)

FEW = 20  # documents, below which an interval that knows documents is not to be believed
BAR = 24  # cells of a bar for a probability of one
EIGHTHS = " ▏▎▍▌▋▊▉█"
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
    return _page(
        _headline("Prepared", result.path, duration(result.seconds)),
        _table(("", "", ""), rows, numbers=(1,)),
        *_first_malformed(Path(result.path) / "quarantine.jsonl"),
        _fact("fingerprint", result.fingerprint),
        _next(f"unmask pretrain {result.path} --out run --minutes 10"),
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
    head = _headline("Verified", result.path, f"{result.files:,} files, {size(result.bytes)}: {found}")
    return _page(head, *(Text(f"  {line}", style="red") for line in result.damage))


@drawn.register
def _(result: Trained) -> RenderableType:
    rows = [
        ("recipe", result.recipe),
        ("parameters", f"{result.parameters:,}"),
        ("steps", f"{result.steps:,}"),
        ("tokens seen", f"{result.tokens:,}"),
        ("validation loss", f"{result.loss:.3f}"),
        ("masked accuracy", f"{result.accuracy:.1%}"),
    ]
    return _page(
        _headline("Trained", result.model, duration(result.seconds)),
        _table(("", ""), rows, numbers=(1,)),
        _fact("sha256", result.weights_sha256),
        _next(f'unmask fill {result.path} "The capital of France is [MASK]."'),
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
    return _page(
        _headline("Evaluated", Path(result.model), f"on {result.positions:,} hidden tokens of {result.data}"),
        _table(("", "value", "95 % interval", "baseline"), rows, numbers=(1, 2)),
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
    return _page(*parts)


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
    return _page(
        _headline("Found", result.path or result.data, f"{found}; {duration(result.seconds)}"),
        *([_table(("", "count", "score"), rows, numbers=(1, 2))] if best else []),
        _next(train if result.path else mine),
    )


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
    return _page(
        _next(f'unmask fill {run} "The function returns a [MASK] of strings."'),
        _next(f"unmask evaluate {run} {data}"),
        _next("unmask prepare my_texts/ --out my_data"),
        _next("unmask pretrain my_data --out my_run --minutes 10"),
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


def bar(part: float, width: int = BAR) -> str:
    """A bar for a part of one, to an eighth of a cell.

    >>> bar(0.5, width=4), bar(0.28, width=4), bar(0.0)
    ('██', '█▏', '')
    """
    eighths = round(part * width * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).strip()


def size(count: int) -> str:
    """Bytes as people say them.

    >>> size(999), size(12_345_678)
    ('999 B', '12.3 MB')
    """
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(4.23), duration(312), duration(7500)
    ('4.2 s', '5 min 12 s', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _interval(figure: Figure, form: str) -> tuple[str, str]:
    known = isfinite(figure.low) and isfinite(figure.high)  # one document alone tells no interval
    return f"{figure.value:{form}}", f"{figure.low:{form}} – {figure.high:{form}}" if known else "unknown"


def _bands(title: str, bands: dict[str, Band]) -> Table:
    rows = [
        (name, f"{band.positions:,}", f"{band.loss.value:.3f}", *_interval(band.top1, ".1%"))
        for name, band in bands.items()
    ]
    return _table((title, "hidden", "loss", "top-1", "95 % interval"), rows, numbers=(1, 2, 3, 4))


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], numbers: tuple[int, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_header=any(heads), show_edge=False, padding=(0, 1))
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place in numbers else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _headline(what: str, path: Path, more: str) -> Text:
    return Text.assemble((f"{what} ", "bold green"), (str(path), "bold"), f"  {more}")


def _fact(name: str, value: str) -> Text:
    return Text.assemble("  ", (f"{name}  ", "dim"), value)


def _next(command: str) -> Text:
    # never wrapped: a command is there to be copied
    return Text.assemble("  ", ("next  ", "dim"), (command, "cyan"), no_wrap=True, overflow="ignore")


def _page(*parts: RenderableType) -> RenderableType:
    spaced = [each for part in parts for each in (part, Text(""))]
    return Group(*spaced)
