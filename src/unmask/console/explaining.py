"""Why a classifier says a label, drawn: the text with its words marked, figures, and what would flip it.

In: an `ExplainedLabel`. Out: what a console prints, at 80 columns and without colour too.

    positive 97.3%  a ++gripping++ and -slow- film
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table
from unmask.quantities import format_bar, format_probability
from unmask.results import ExplainedLabel, Flip, LabelWord

STRONG = 0.2  # of the strongest relevance, from which a word is marked
LISTED = 8  # words in figures
AROUND = 60  # characters around a marked word of a long text
LONG = 2_000  # characters, from which it is one
HOW = {"hidden": "hidden by the mask", "deleted": "left out"}


def draw_explained_label(result: ExplainedLabel, *, colour: bool = True) -> RenderableType:
    """The label, the text with the words that mattered, and the change that flips it."""
    said = result.label in result.labels
    head = Text.assemble(
        (result.label, "bold green" if said else "bold"), f"  {format_probability(result.probability)}"
    )
    if not said:
        head.append(f"  (what is said: {', '.join(result.labels) or 'none of the labels'})")
    strongest = max((abs(word.relevance) for word in result.words), default=0.0)
    marked = [word for word in result.words if strongest and abs(word.relevance) >= STRONG * strongest]
    listed = sorted(marked, key=lambda word: -abs(word.relevance))[:LISTED]
    rows = [
        (word.word, f"{word.relevance:+.2f}", f"{word.drop:+.1%}", format_bar(abs(word.relevance) / strongest))
        for word in listed
    ]
    return draw_page(
        head,
        *_marked_texts(result, marked, strongest, colour),
        draw_table((f"why {result.label}", "log-odds", "probability", ""), rows, numbers=(1, 2)),
        *([_flip_line(result, result.flip, colour)] if result.changes else []),
        *(Padding(Text(line, style="dim"), (0, 1)) for line in _how_measured(result)),
    )


def _marked_texts(
    result: ExplainedLabel, marked: Sequence[LabelWord], strongest: float, colour: bool
) -> list[RenderableType]:
    texts = [(result.text, False), *([(result.pair, True)] if result.pair is not None else [])]
    drawn: list[RenderableType] = []
    for text, second in texts:
        drawing, place = Text(), 0
        for word in (each for each in marked if each.second == second):
            drawing.append(_between(text, place, word.start))
            drawing.append(*_signed_word(word, strongest, colour))
            place = word.end
        drawing.append(_between(text, place, len(text)))
        drawn.append(Padding(drawing, (0, 2)))
    return drawn


def _between(text: str, begin: int, end: int) -> str:
    """What stands between marked words; of a long text what is near them."""
    if len(text) <= LONG or end - begin <= 2 * AROUND:
        return text[begin:end]
    left, right = text[begin : begin + AROUND] if begin else "", text[end - AROUND : end] if end < len(text) else ""
    return f"{left} … {right}"


def _signed_word(word: LabelWord, strongest: float, colour: bool) -> tuple[str, str]:
    """A word and its style; without colour +word+ spoke for the label and -word- against it."""
    strong = abs(word.relevance) >= strongest / 2
    if colour:
        shade = "green" if word.relevance > 0 else "red"
        return word.word, f"bold {shade}" if strong else shade
    sign = ("+" if word.relevance > 0 else "-") * (2 if strong else 1)
    return f"{sign}{word.word}{sign}", ""


def _flip_line(result: ExplainedLabel, flip: Flip | None, colour: bool) -> RenderableType:
    """The smallest change, and what is said then."""
    if flip is None:
        count = "one word" if result.changes == 1 else f"at most {result.changes} words"
        return Padding(Text(f"No change of {count} was found that makes it say something else."), (0, 1))
    said = ", ".join(flip.labels) or "none of the labels"
    share = f"{result.label} {format_probability(flip.probability)}"
    line = Text.assemble("with ", ("one change" if len(flip.changes) == 1 else f"{len(flip.changes)} changes", "bold"))
    line.append_text(Text.assemble(" it says ", (said, "bold yellow"), f" ({share}): "))
    for number, change in enumerate(flip.changes):
        line.append("; " if number else "")
        line.append(change.word, "strike" if colour else "")
        line.append(f" → {change.by}" if change.by else " left out", "bold" if colour else "")
    return Padding(line, (0, 1))


def _how_measured(result: ExplainedLabel) -> list[str]:
    """How it was measured, and what was read."""
    if result.method == "replaced":
        how = (
            f"log-odds of {result.label}, minus what they are with {result.replacements} other words in a word's place "
            f"({result.covered:.0%} of what could stand there, by {result.start})"
        )
    else:
        how = f"log-odds of {result.label}, minus what they are with a word {HOW[result.method]}"
    lines = [f"{how}; + spoke for it, - against it"]
    lines += [f"words are {HOW[result.method]} and not replaced: {note}" for note in result.notes]
    if result.left_out:
        lines.append(f"{result.left_out:,} more words mattered less when hidden, and were not replaced (--words)")
    if result.windows > 1:
        lines.append(f"read in {result.windows:,} windows: {result.tokens_read:,} tokens")
    return lines
