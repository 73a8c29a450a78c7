"""Corruption, drawn: a text as the model will see it, and what a policy really does, as bars.

In: a `Shown` or an `Audited`. Out: text for a terminal, with or without colour.

    the cat    sat on the   mat
    the [MASK] sat on =the= mat
        ▔▔▔▔▔▔        ▔▔▔▔▔
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from unmask.quantities import bar
from unmask.results import Audited, Shown, ShownToken

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
MOST = 12  # bars of lengths; what is longer shares the last
SURE = 0.001  # a p-value below this says that a position is favoured


def draw_shown(shown: Shown, *, width: int = 80, colour: bool = True) -> Text:
    """The text above, what the model sees below, and a line under what is hidden together."""
    drawing = Text(no_wrap=True, overflow="crop")
    share = f"{shown.hidden} of {shown.tokens} tokens hidden"
    drawing.append(shown.policy, style="bold" if colour else "")
    drawing.append(f" · {share}" + (f" · t = {shown.time:.2f}" if shown.time is not None else "") + "\n")
    for line in _lines(shown.pieces, width, colour):
        _draw_line(drawing, line, colour)
    if shown.answer:
        drawing.append(f"answer: {shown.answer}\n")
    return drawing


def legend(*, colour: bool = True) -> Text:
    """What the colours, or the signs, say."""
    words = {
        "masked": "hidden",
        "random": "a random token",
        "kept": "hidden, but shown",
        "asked": "asked⁽in this order⁾",
    }
    signs = {kind: "" if colour else SIGNS.get(kind, "") for kind in words}
    parts = [
        Text(f"{signs[kind]}{word}{signs[kind]}", style=STYLES[kind] if colour else "") for kind, word in words.items()
    ]
    return Text("   ").join(parts)


def _label(piece: ShownToken, colour: bool) -> str:
    sign = "" if colour else SIGNS.get(piece.kind, "")
    return f"{sign}{piece.shown}{sign}" + (f"⁽{piece.order}⁾" if piece.order else "")


def _size(piece: ShownToken, colour: bool) -> int:
    return max(Text(piece.text).cell_len, Text(_label(piece, colour)).cell_len)


def _lines(pieces: Iterable[ShownToken], width: int, colour: bool) -> Iterator[list[ShownToken]]:
    """The pieces, as many on a line as fit."""
    line: list[ShownToken] = []
    room = width
    for piece in pieces:
        size = _size(piece, colour)
        if line and size > room:
            yield line
            line, room = [], width
        line.append(piece)
        room -= size + 1
    if line:
        yield line


def _draw_line(drawing: Text, line: list[ShownToken], colour: bool) -> None:
    below, under = Text(), ""
    for place, piece in enumerate(line):
        size = _size(piece, colour)
        style = STYLES[piece.kind] if colour else ""
        drawing.append(_filled(piece.text, size + 1), style="dim" if colour and piece.unit == 0 else "")
        label = _label(piece, colour)
        below.append(label, style=style)
        below.append(" " * (size + 1 - Text(label).cell_len))
        joined = place + 1 < len(line) and piece.unit and line[place + 1].unit == piece.unit
        under += ("▔" if piece.unit else " ") * size + ("▔" if joined else " ")
    drawing.append("\n").append_text(below).append("\n")
    drawing.append(under.rstrip() + "\n", style="red" if colour else "")


def _filled(text: str, size: int) -> str:
    return text + " " * (size - Text(text).cell_len)


def draw_audit(audited: Audited, *, colour: bool = True) -> Text:
    """What a policy really does."""
    drawing = Text()
    asked = "" if audited.asked is None else f", asked {audited.asked:.2%}"
    drawing.append(f"{audited.policy}\n\n", style="bold" if colour else "")
    drawing.append(f"{audited.rows:,} rows, {audited.tokens:,} tokens that may be hidden, {audited.hidden:,} hidden\n")
    drawing.append(
        f"rate      {audited.rate:.2%}{asked}; of nine rows in ten {audited.rate_low:.2%} to {audited.rate_high:.2%}\n"
    )
    drawing.append("shown     " + ", ".join(f"{kind} {share:.1%}" for kind, share in audited.split.items()) + "\n")
    wrong = audited.specials_hidden + audited.specials_shown + audited.silent
    drawing.append(
        f"specials  {audited.specials_hidden} hidden, {audited.specials_shown} shown as replacements; "
        f"{audited.silent} rows without a prediction\n",
        style="bold red" if colour and wrong else "",
    )
    drawing.append(f"speed     {audited.tokens_per_second / 1e6:.1f} million tokens a second\n")
    drawing.append("\ntokens in a unit\n")
    names, shares = _lengths(audited)
    _bars(drawing, names, shares, "blue" if colour else "")
    drawing.append("\nrate along the row")
    _verdict(drawing, audited, colour)
    _bars(drawing, _places(len(audited.positions)), audited.positions, "green" if colour else "")
    return drawing


def _verdict(drawing: Text, audited: Audited, colour: bool) -> None:
    if audited.position_p is None:
        drawing.append(": too few rows to test\n")
        return
    biased = audited.position_p < SURE
    said = "a position is favoured" if biased else "no position is favoured"
    drawing.append(f": {said} (p = {audited.position_p:.2g})\n", style="bold red" if biased and colour else "")


def _lengths(audited: Audited) -> tuple[list[str], list[float]]:
    """The share of units of each length, the long tail as one."""
    total = max(sum(audited.lengths.values()), 1)
    longest = max(audited.lengths, default=0)
    shares = [audited.lengths.get(size, 0) / total for size in range(1, min(longest, MOST - 1) + 1)]
    names = [str(size) for size in range(1, len(shares) + 1)]
    if longest >= MOST:
        shares.append(1 - sum(shares))
        names.append(f"{MOST}+")
    return names, shares


def _places(count: int) -> list[str]:
    return [f"{number / count:.0%}" for number in range(count)]


def _bars(drawing: Text, names: Sequence[str], values: Sequence[float], style: str) -> None:
    most = max(values, default=0) or 1
    for name, value in zip(names, values, strict=True):
        drawing.append(f"{name:>5} ")
        drawing.append(bar(value / most, WIDTH).ljust(WIDTH), style=style)
        drawing.append(f" {value:.1%}\n")
