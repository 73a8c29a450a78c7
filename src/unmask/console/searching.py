"""Vectors, indexes and what was found in them, for people.

In: results of `unmask embed`, `index`, `search` and `near`. Out: pages of rich, at 80 columns and without colour too:
there words that matched stand between asterisks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, next_commands, title_line
from unmask.quantities import format_duration
from unmask.results import Embedded, Hit, Indexed, NearTexts, Searched, VectorsWritten

LINES = 3  # of a passage that are shown
NUMBERS = 6  # of a vector
WAYS = {
    "bm25": "by words (BM25)",
    "dense": "by vectors",
    "sparse": "by weighted words",
    "fused": "by words and vectors, fused",
}
UNTUNED = (
    "This model was not tuned for search, and its vectors find little: --by bm25 searches by words. unmask tune "
    "retrieve tunes one; an encoder tuned elsewhere can be indexed as it is."
)
CROWDED = (
    "So many pairs are near that nearness says little: vectors of a model that was not tuned crowd. Embed the texts "
    "with --whiten, or give a higher --above."
)


def draw_embedded(result: Embedded) -> RenderableType:
    """A text and the beginning of its vector."""
    numbers = "  ".join(f"{number:.4f}" for number in result.vector[:NUMBERS])
    more = "  …" if len(result.vector) > NUMBERS else ""
    read = f"{len(result.vector)} numbers · {result.tokens_read:,} tokens read"
    read += f" in {result.windows} windows" if result.windows > 1 else ""
    read += f" · {result.cut:,} tokens cut off" if result.cut else ""
    return draw_page(
        Text.assemble((_one_line(result.text, 76), "bold"), "\n  ", (f"{numbers}{more}", "cyan"), f"\n  {read}")
    )


def draw_vectors_written(result: VectorsWritten) -> RenderableType:
    """What a vectors directory holds."""
    made = [result.pooling, *(["normalised"] if result.normalised else []), result.dtype]
    rows = [
        ("texts", f"{result.texts:,}", ""),
        ("numbers each", f"{result.dimensions:,}", ", ".join(made)),
        ("tokens read", f"{result.tokens_read:,}", ""),
    ]
    if result.windows > result.texts:
        rows.append(("windows", f"{result.windows:,}", "for texts longer than the model takes"))
    if result.cut:
        rows.append(("tokens cut off", f"{result.cut:,}", "as --on-long cut asks"))
    if result.whitened:
        rows.append(("directions taken away", f"{result.whitened:,}", "and the mean, kept in whitening.npy"))
    if result.continued_after:
        rows.append(("went on after text", f"{result.continued_after:,}", ""))
    return draw_page(
        title_line("Embedded", result.path, format_duration(result.seconds)),
        draw_table(("", "", ""), rows, numbers=(1,)),
        next_commands(result.next),
    )


def draw_indexed(result: Indexed) -> RenderableType:
    """What an index holds."""
    rows = [("documents", f"{result.documents:,}", _changes(result)), ("passages", f"{result.passages:,}", "")]
    rows.append(("numbers in a vector", f"{result.dimensions:,}", ""))
    if result.whitened:
        rows.append(("directions taken away", f"{result.whitened:,}", "and the mean"))
    if result.faiss_recall is not None:
        rows.append(("faiss, recall@10", f"{result.faiss_recall:.1%}", "of what an exact search finds, on a sample"))
    return draw_page(
        title_line("Indexed", result.path, format_duration(result.seconds)),
        draw_table(("", "", ""), rows, numbers=(1,)),
        *([] if result.tuned else [Padding(Text(UNTUNED, style="yellow"), (0, 1))]),
        next_commands(result.next),
    )


def _changes(result: Indexed) -> str:
    changes = [f"{result.added:,} added"] if result.added else []
    return ", ".join([*changes, *([f"{result.removed:,} removed"] if result.removed else [])])


def draw_searched(result: Searched, *, width: int, colour: bool) -> Text:
    """The passages that were found, the words they share with the query standing out."""
    reranked = "" if result.reranked is None else f", reranked by {result.reranked}"
    text = Text.assemble((result.query, "bold green"), f"  {WAYS[result.by]}{reranked}\n")
    if not result.hits:
        text.append("\n  nothing shares a word with it; --by dense looks for what is near in meaning\n")
    for rank, hit in enumerate(result.hits, start=1):
        where = hit.document if hit.id == hit.document else f"{hit.document}, passage {hit.passage}"
        text.append(f"\n{rank:>3}  ")
        text.append(where, "bold")
        text.append(f"  {_score(hit, result.by)}\n")
        text.append(_excerpt(hit, LINES * (width - 5), width - 5, colour))
        text.append("\n")
    if result.by != "bm25" and not result.tuned:
        text.append(f"\n{UNTUNED}\n", "yellow")
    return text


def _score(hit: Hit, by: str) -> str:
    if "before" in hit.ranks:
        return f"score {hit.score:.3f}, before {hit.ranks['before']}."
    if by != "fused":
        return f"{'cosine' if by == 'dense' else 'score'} {hit.score:.3f}"
    names = {"bm25": "words", "dense": "vectors", "sparse": "weighted words"}
    if "dense" in hit.ranks or "sparse" not in hit.ranks:
        del names["sparse"]
    else:
        del names["dense"]
    return ", ".join(f"{name} {hit.ranks[way]}." if way in hit.ranks else f"{name} –" for way, name in names.items())


def _excerpt(hit: Hit, size: int, width: int, colour: bool) -> Text:
    """The stretch of a passage that has most of the matched words, in lines of some width."""
    begin = _densest(hit.text, hit.matched, size)
    end = min(len(hit.text), begin + size)
    text = Text("" if begin == 0 else "…")
    place = begin
    for first, last in hit.matched:
        if first < begin or last > end:
            continue
        text.append(_spaces(hit.text[place:first]))
        word = hit.text[first:last]
        text.append(word if colour else f"*{word}*", "bold yellow underline")
        place = last
    text.append(_spaces(hit.text[place:end]))
    text.append("…" if end < len(hit.text) else "")
    return _indented(text, width)


def _spaces(text: str) -> str:
    """With line ends as spaces, so that places of words stay."""
    return re.sub(r"\s", " ", text)


def _densest(text: str, matched: Sequence[tuple[int, int]], size: int) -> int:
    """Where a stretch begins that has most of the matched words; some words before the first of them."""
    length = len(text)
    if length <= size or not matched:
        return 0
    first = max(matched, key=lambda span: sum(span[0] <= other[0] < span[0] + size - 40 for other in matched))[0]
    begin = max(0, min(first - 40, length - size))
    return (begin and text.find(" ", begin, first) + 1) or begin


def _indented(text: Text, width: int) -> Text:
    from rich.console import Console

    lines = text.wrap(Console(width=width, color_system=None), width)
    return Text("\n").join([Text.assemble("     ", line) for line in lines[:LINES]])


def draw_near(result: NearTexts) -> RenderableType:
    """Pairs of texts, the nearest first."""
    shown = f", the nearest {len(result.pairs):,} of them" if result.total > len(result.pairs) else ""
    counted = f"{result.total:,} pairs of {result.texts:,} texts with a cosine of {result.above:g} or more{shown}"
    sections: list[RenderableType] = [title_line("Near", result.path, counted if result.total else f"no {counted[2:]}")]
    for pair in result.pairs:
        head = Text.assemble((f"{pair.cosine:.4f}  ", "cyan"), (f"{pair.first}  {pair.second}", "bold"))
        sections.append(Group(head, *(Padding(Text(excerpt), (0, 0, 0, 8)) for excerpt in pair.excerpts)))
    if result.crowded:
        sections.append(Padding(Text(CROWDED, style="yellow"), (0, 1)))
    return draw_page(*sections)


def _one_line(text: str, size: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= size else f"{line[: size - 1]}…"
