"""An audit, drawn: its figures in a few lines, lengths and positions as bars.

In: an `Audited`. Out: text for a terminal, with or without colour, within 80 columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from unmask.corruption.audit import Audited

WIDTH = 40  # of the longest bar
MOST = 12  # bars of lengths; what is longer shares the last
EIGHTHS = " ▏▎▍▌▋▊▉"
SURE = 0.001  # a p-value below this says that a position is favoured


def draw_audit(audited: Audited, *, colour: bool = True) -> Text:
    """What a policy really does."""
    drawing = Text()
    asked = "" if audited.asked is None else f", asked {audited.asked:.2%}"
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
        whole, rest = divmod(round(value / most * WIDTH * 8), 8)
        drawing.append(f"{name:>5} ")
        drawing.append(("█" * whole + EIGHTHS[rest].strip()).ljust(WIDTH), style=style)
        drawing.append(f" {value:.1%}\n")
