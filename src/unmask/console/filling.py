"""Filled blanks, drawn: the completed text, what the blanks agree on, what each says on its own, and why.

In: a `Filled`. Out: what a console prints, at 80 columns and without colour too.

    She moved to New York City in 1998.
      together        joint   ln p   ± orders
      York City       31.0%  -2.31       0.40
    each on its own: She moved to New York York in 1998.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask.console.layout import draw_page, draw_table
from unmask.quantities import format_bar, format_probability
from unmask.results import Agreement, Explained, Filled, Guess

MOST_GROUPS = 4  # of blanks that agree, drawn; the others are in JSON
MOST_BLANKS = 16  # and blanks
STRONG = 0.1  # of the strongest relevance, from which a word is marked
LISTED = 8  # words of an explanation in figures
AROUND = 160  # characters around the blanks of a long text
LONG = 2_000  # characters, from which it is one


def draw_filled(result: Filled, *, colour: bool = True) -> RenderableType:
    """All that was found for a text."""
    several = len(result.blanks) > 1
    sections: list[RenderableType] = [_completed_text(result)]
    sections += [_agreement(agreement) for agreement in result.agreements[:MOST_GROUPS]]
    if several and result.independent:
        same = result.independent == result.completed
        sections.append(
            _note("each on its own: the same" if same else f"each on its own: {_short(result.independent)}")
        )
    for number, guesses in enumerate(result.blanks[:MOST_BLANKS], start=1):
        how = "behind those before it" if result.method == "spans" else "on its own"
        sections.append(_guesses(guesses, f"blank {number} {how}" if several else ""))
    sections += [_explained(result, explained, colour) for explained in result.explained[:MOST_GROUPS]]
    sections += [_note(line) for line in _remarks(result)]
    return draw_page(*sections)


def _remarks(result: Filled) -> Iterable[str]:
    """What was read, and what was not told."""
    if result.windows > 1 or result.tokens_read < result.tokens - result.cut:
        windows = "one window" if result.windows == 1 else f"{result.windows:,} windows"
        yield (
            f"read in {windows}: {result.tokens_read:,} of {result.tokens:,} tokens stand in sight of a blank; "
            "blanks that do not share one are independent"
        )
    if result.cut:
        yield f"cut: {result.cut:,} of {result.tokens:,} tokens were not read; --on-long windows reads them"
    if result.word_lengths:
        yield f"word lengths weigh as in {result.word_lengths}"
    yield from result.notes
    if len(result.agreements) > MOST_GROUPS:
        yield f"{len(result.agreements) - MOST_GROUPS:,} more groups of blanks that agree are in --json"
    if len(result.blanks) > MOST_BLANKS:
        yield f"{len(result.blanks) - MOST_BLANKS:,} more blanks are in --json"


def _note(line: str) -> RenderableType:
    return Padding(Text(line, style="dim"), (0, 1))


def _short(text: str) -> str:
    return text if len(text) <= LONG else f"{text[:AROUND]} … {text[-AROUND:]}"


def _completed_text(result: Filled) -> Text:
    """The completed text, the filled words standing out; of a long one what is around them."""
    text = Text(result.completed)
    for start, end in result.places:
        text.stylize("bold green underline", start, end)
    if len(text) <= LONG:
        return text
    stretches: list[list[int]] = []
    for start, end in result.places[:MOST_BLANKS]:
        begin, stop = max(0, start - AROUND), min(len(text), end + AROUND)
        if stretches and begin <= stretches[-1][1]:
            stretches[-1][1] = stop
        else:
            stretches.append([begin, stop])
    pieces = [text[begin:stop] for begin, stop in stretches]
    pieces = [*([Text("")] * (stretches[0][0] > 0)), *pieces, *([Text("")] * (stretches[-1][1] < len(text)))]
    return Text(" … ").join(pieces)


def _agreement(agreement: Agreement) -> Table:
    """The likeliest ways to fill blanks together."""
    table = agreement.method == "table"
    numbers = ", ".join(str(number + 1) for number in agreement.blanks)
    ordered = agreement.orders > 1  # T5 has one
    heads = (
        f"blanks {numbers} together",
        *(("joint",) if table else ()),
        "ln p",
        *((f"spread of {agreement.orders} orders",) if ordered else ()),
    )
    rows: list[tuple[str | Text, ...]] = []
    for filling in agreement.fillings:
        joint = (format_probability(filling.probability),) if filling.probability is not None else ()
        words = (" " if ordered else " · ").join(filling.words)  # a span may be several words
        spread = (f"{filling.spread:.2f}",) if ordered else ()
        rows.append((Text(words, style="bold"), *joint, f"{filling.log_probability:.2f}", *spread))
    if table:
        outside = " and ".join(format_probability(share) for share in agreement.outside)
        rows.append((Text(f"outside the table: {outside}", style="dim"), "", "", ""))
    return draw_table(heads, rows, numbers=tuple(range(1, len(heads))))


def _guesses(guesses: Iterable[Guess], title: str) -> RenderableType:
    grid = Table(box=None, show_header=False, padding=(0, 1))
    for style, justify in (("bold", "left"), ("", "right"), ("green", "left")):
        grid.add_column(style=style, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for guess in guesses:
        grid.add_row(Text(guess.token), format_probability(guess.probability), format_bar(guess.probability))
    return Group(Text(title, style="italic"), grid) if title else grid


def _explained(result: Filled, explained: Explained, colour: bool) -> RenderableType:
    """The context with its words marked, and the strongest of them in figures."""
    words = explained.words
    strongest = max((abs(word.relevance) for word in words), default=0.0)
    marked = [word for word in words if strongest and abs(word.relevance) >= STRONG * strongest]
    begin = min((word.start for word in words), default=0)
    begin = min([begin, *(result.places[number][0] for number in explained.blanks)])
    end = max([result.places[number][1] for number in explained.blanks] + [word.end for word in words])
    drawing, place = Text(), begin
    spans = [(word.start, word.end, word.relevance) for word in marked]
    spans += [(*result.places[number], 0.0) for number in explained.blanks]
    for start, stop, relevance in sorted(spans):
        drawing.append(result.completed[place:start])
        drawing.append(*_marked(result.completed[start:stop], relevance, strongest, colour))
        place = stop
    drawing.append(result.completed[place:end])
    strong = sorted(marked, key=lambda word: -abs(word.relevance))[:LISTED]
    rows = [(word.word, f"{word.relevance:+.2f}", format_bar(abs(word.relevance) / strongest)) for word in strong]
    figures = draw_table((f"why {' '.join(explained.answer)}", "nats", ""), rows, numbers=(1,))
    return draw_page(drawing, figures, _note(_how(explained)))


def _marked(word: str, relevance: float, strongest: float, colour: bool) -> tuple[str, str]:
    """A word and its style; without colour +word+ helped, -word- was in the way, and the answer stands in brackets."""
    if not relevance:
        return (word, "bold underline") if colour else (f"[{word}]", "")
    strong = abs(relevance) >= strongest / 2
    if colour:
        shade = "green" if relevance > 0 else "red"
        return word, f"bold {shade}" if strong else shade
    sign = ("+" if relevance > 0 else "-") * (2 if strong else 1)
    return f"{sign}{word}{sign}", ""


def _how(explained: Explained) -> str:
    far = f"; {explained.left_out:,} words farther away were not tried" if explained.left_out else ""
    return (
        f"ln p of the answer {explained.log_probability:.2f}, minus what it is with {explained.replacements} other "
        f"words in a word's place ({explained.covered:.0%} of what could stand there){far}; "
        "+ made it likelier, - less likely"
    )
