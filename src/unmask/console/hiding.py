"""Corruption, drawn: a text as the model will see it, what a policy really does, as bars, and how hard it is.

In: a `Shown`, an `Audited` or a `Hardness`. Out: text for a terminal, with or without colour.

    the cat    sat on the   mat
    the [MASK] sat on =the= mat
        ▔▔▔▔▔▔        ▔▔▔▔▔
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, title_line
from unmask.quantities import format_bar
from unmask.results import Audited, Figure, Hardness, PolicyHardness, Shown, ShownToken

STYLES = {
    "masked": "bold red",
    "random": "bold yellow",
    "kept": "bold green",
    "asked": "bold cyan",
    "gone": "red",
    "shown": "dim",
}
SIGNS = {"random": "~", "kept": "="}  # around a token where there is no colour to tell
WIDTH = 40  # of the longest bar
MAX_BARS = 12  # bars of lengths; what is longer shares the last


def draw_shown(shown: Shown, *, width: int = 80, colour: bool = True) -> Text:
    """The text above, what the model sees below, and a line under what is hidden together."""
    drawing = Text(no_wrap=True, overflow="crop")
    share = f"{shown.hidden} of {shown.tokens} tokens hidden"
    drawing.append(shown.policy, style="bold" if colour else "")
    drawing.append(f" · {share}" + (f" · t = {shown.time:.2f}" if shown.time is not None else "") + "\n")
    if not shown.hidden:
        drawing.append("a short text may hide nothing in a draw: try another --seed or a higher --rate\n")
    for line in _token_lines(shown.pieces, width, colour):
        _draw_line(drawing, line, colour)
    if shown.answer:
        drawing.append(f"answer: {shown.answer}\n")
    return drawing


def draw_legend(*, colour: bool = True) -> Text:
    """What the colours, or the signs, say."""
    words = {
        "masked": "hidden",
        "random": "a random token",
        "kept": "hidden, but shown",
        "asked": "asked⁽in this order⁾",
    }
    signs = {kind: "" if colour else SIGNS.get(kind, "") for kind in words}
    entries = [
        Text(f"{signs[kind]}{word}{signs[kind]}", style=STYLES[kind] if colour else "") for kind, word in words.items()
    ]
    return Text("   ").join(entries)


def _label(token: ShownToken, colour: bool) -> str:
    sign = "" if colour else SIGNS.get(token.kind, "")
    return f"{sign}{token.shown}{sign}" + (f"⁽{token.order}⁾" if token.order else "")


def _cell_width(token: ShownToken, colour: bool) -> int:
    return max(Text(token.text).cell_len, Text(_label(token, colour)).cell_len)


def _token_lines(tokens: Iterable[ShownToken], width: int, colour: bool) -> Iterator[list[ShownToken]]:
    """The pieces, as many on a line as fit."""
    line: list[ShownToken] = []
    room = width
    for token in tokens:
        size = _cell_width(token, colour)
        if line and size > room:
            yield line
            line, room = [], width
        line.append(token)
        room -= size + 1
    if line:
        yield line


def _draw_line(drawing: Text, line: list[ShownToken], colour: bool) -> None:
    below, under = Text(), ""
    for place, token in enumerate(line):
        size = _cell_width(token, colour)
        style = STYLES[token.kind] if colour else ""
        drawing.append(_pad_cells(token.text, size + 1), style="dim" if colour and token.unit == 0 else "")
        label = _label(token, colour)
        below.append(label, style=style)
        below.append(" " * (size + 1 - Text(label).cell_len))
        continues = place + 1 < len(line) and token.unit and line[place + 1].unit == token.unit
        under += ("▔" if token.unit else " ") * size + ("▔" if continues else " ")
    drawing.append("\n").append_text(below).append("\n")
    drawing.append(under.rstrip() + "\n", style="red" if colour else "")


def _pad_cells(text: str, size: int) -> str:
    return text + " " * (size - Text(text).cell_len)


def draw_audit(audited: Audited, *, colour: bool = True) -> Text:
    """What a policy really does."""
    drawing = Text()
    target = "" if audited.asked is None else f", asked {audited.asked:.2%}"
    drawing.append(f"{audited.policy}\n\n", style="bold" if colour else "")
    drawing.append(f"{audited.rows:,} rows, {audited.tokens:,} tokens that may be hidden, {audited.hidden:,} hidden\n")
    drawing.append(
        f"rate      {audited.rate:.2%}{target}; of nine rows in ten {audited.rate_low:.2%} to {audited.rate_high:.2%}\n"
    )
    drawing.append("shown     " + ", ".join(f"{kind} {share:.1%}" for kind, share in audited.split.items()) + "\n")
    wrong = audited.specials_hidden + audited.specials_shown
    drawing.append(
        f"specials  {audited.specials_hidden} hidden, {audited.specials_shown} shown as replacements\n",
        style="bold red" if colour and wrong else "",
    )
    drawing.append(f"silent    {audited.silent:,} rows hide nothing in this draw\n")
    drawing.append(f"speed     {audited.tokens_per_second / 1e6:.1f} million tokens a second\n")
    drawing.append("\ntokens in a unit\n")
    names, shares = _lengths(audited)
    _draw_bars(drawing, names, shares, "blue" if colour else "")
    drawing.append("\nrate along the row")
    _verdict(drawing, audited, colour)
    _draw_bars(drawing, _places(len(audited.positions)), audited.positions, "green" if colour else "")
    return drawing


def _verdict(drawing: Text, audited: Audited, colour: bool) -> None:
    if audited.position_p is None:
        drawing.append(": too few rows to test\n")
        return
    verdict = "a position is favoured" if audited.position_favoured else "no position is favoured"
    reason = f"p = {audited.position_p:.2g}, {'below' if audited.position_favoured else 'not below'}"
    style = "bold red" if audited.position_favoured and colour else ""
    drawing.append(f": {verdict} ({reason} {audited.position_threshold:g})\n", style=style)


def _lengths(audited: Audited) -> tuple[list[str], list[float]]:
    """The share of units of each length, the long tail as one."""
    total = max(sum(audited.lengths.values()), 1)
    max_length = max(audited.lengths, default=0)
    shares = [audited.lengths.get(size, 0) / total for size in range(1, min(max_length, MAX_BARS - 1) + 1)]
    names = [str(size) for size in range(1, len(shares) + 1)]
    if max_length >= MAX_BARS:
        shares.append(1 - sum(shares))
        names.append(f"{MAX_BARS}+")
    return names, shares


def _places(count: int) -> list[str]:
    return [f"{number / count:.0%}" for number in range(count)]


def _draw_bars(drawing: Text, names: Sequence[str], values: Sequence[float], style: str) -> None:
    largest = max(values, default=0) or 1
    for name, value in zip(names, values, strict=True):
        drawing.append(f"{name:>5} ")
        drawing.append(format_bar(value / largest, WIDTH).ljust(WIDTH), style=style)
        drawing.append(f" {value:.1%}\n")


def draw_hardness(result: Hardness) -> RenderableType:
    """How predictable what each policy hides is."""
    heads = ("policy", "rate", "bits", f"beyond {result.reference}", "unigram", "< 1 bit", "beside")
    sample = "" if result.counted == result.training_tokens else f" of {result.training_tokens:,}"
    return draw_page(
        title_line("Measured", result.data, f"{result.rows:,} held-out blocks of {result.length}, the same for all"),
        draw_table(heads, map(_hardness_row, result.policies), numbers=tuple(range(1, len(heads)))),
        Padding(Text(HARDNESS), (0, 1)),
        Padding(Text(f"Counted on {result.counted:,}{sample} tokens of the training text."), (0, 1)),
    )


HARDNESS = (
    "Bits: how surprising a hidden token is, given the neighbours that are there, under a bigram model of the "
    "training text; fewer are easier. Unigram: the same tokens by how often they occur. < 1 bit: the share that is "
    "as good as given away. Beside: how many of its two neighbours a hidden token has. ± 95 %, over blocks."
)


def _hardness_row(row: PolicyHardness) -> tuple[str, ...]:
    return (
        row.policy,
        f"{row.rate:.1%}",
        _with_margin(row.bits, ".2f"),
        "" if row.beyond_reference is None else _with_margin(row.beyond_reference, "+.2f"),
        f"{row.unigram_bits.value:.2f}",
        f"{row.under_one_bit.value:.1%}",
        f"{row.neighbours:.2f}",
    )


def _with_margin(figure: Figure, form: str) -> str:
    """A figure and half its interval; one block alone tells none."""
    margin = (figure.high - figure.low) / 2
    return f"{figure.value:{form}}" + (f" ± {margin:.2f}" if isfinite(margin) else "")
