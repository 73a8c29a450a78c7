"""Vocabularies of several sizes side by side, and by language, the worst served first.

In: a `TokenizerSweep`. Out: tables.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, fact_line, next_command, title_line
from unmask.quantities import format_bytes, format_count, format_duration, with_interval
from unmask.results import TokenizerSweep, VocabularySize
from unmask.runs.commands import quoted_path

WORST = 12  # languages that are shown
HEADS = ("size", "tokens/byte", "/char.", "unknown", "weights", "FLOPs/byte", "cost")


def draw_sweep(result: TokenizerSweep) -> RenderableType:
    """The sizes, the languages of each, and what decides."""
    read = f"{result.documents:,} documents, {format_bytes(result.bytes)}"
    least = min(row.operations_per_byte for row in result.sizes)
    rows = [_row(row, least) for row in result.sizes]
    languages = _languages(result)
    best, doubt = _fewest_bits(result)
    return draw_page(
        title_line("Measured", result.data, f"{result.kind}, on {read} held out; {format_duration(result.seconds)}"),
        draw_table(HEADS, rows, numbers=tuple(range(1, len(HEADS)))),
        *([_learnt(result)] if any(row.bits_per_byte for row in result.sizes) else []),
        *([languages] if languages is not None else []),
        Padding(
            Text(
                f"FLOPs/byte: what a byte of text costs {result.recipe} in training; cost: beside the least. "
                "Which size learns most for its cost only training tells: compare bits per byte."
            ),
            (0, 1),
        ),
        *(Padding(Text(note, style="yellow"), (0, 1)) for note in result.notes),
        fact_line("least cost", f"{result.cheapest:,} tokens"),
        *([fact_line("fewest bits per byte", f"{best:,} tokens{doubt}")] if best else []),
        next_command(
            f"unmask prepare … --tokenizer {result.kind} --vocab-size {best or result.cheapest} "
            f"--out {quoted_path(result.data.with_name(f'{result.data.name}-{best or result.cheapest}'))}"
        ),
    )


def _row(row: VocabularySize, least: float) -> tuple[str, ...]:
    return (
        f"{row.vocabulary:,}{' now' if row.current else ''}",
        f"{row.tokens_per_byte:.4f}",
        f"{row.tokens_per_character:.4f}",
        f"{100 * row.unknown:.2f}%",
        format_count(row.parameters),
        format_count(row.operations_per_byte),
        f"× {row.operations_per_byte / least:.2f}",
    )


def _learnt(result: TokenizerSweep) -> RenderableType:
    """Bits per byte after equal work, the fewest first."""
    trained = [(row, row.bits_per_byte) for row in result.sizes if row.bits_per_byte is not None]
    trained.sort(key=lambda pair: pair[1].value)
    rows = [(f"{row.vocabulary:,}", f"{row.steps:,}", *with_interval(bits, ".4f")) for row, bits in trained]
    return draw_table(("after equal work", "steps", "bits/byte", "95 % interval"), rows, numbers=(1, 2, 3))


def _languages(result: TokenizerSweep) -> RenderableType | None:
    """Tokens per byte of each language under each size; the first one's order, the worst first."""
    shown = [each.language for each in result.sizes[0].languages][:WORST]
    if not shown:
        return None
    table = [{each.language: each for each in row.languages} for row in result.sizes]
    heads = ("tokens/byte", "bytes", *(f"{row.vocabulary:,}" for row in result.sizes))
    rows = [
        (name, format_bytes(table[0][name].bytes), *(f"{row[name].tokens_per_byte:.3f}" for row in table))
        for name in shown
    ]
    return draw_table(heads, rows, numbers=tuple(range(1, len(heads))))


def _fewest_bits(result: TokenizerSweep) -> tuple[int | None, str]:
    """The vocabulary whose model learnt most, and whether another one may have."""
    trained = [(bits.value, bits.high, bits.low, row.vocabulary) for row in result.sizes if (bits := row.bits_per_byte)]
    if not trained:
        return None, ""
    best = min(trained)
    close = any(low <= best[1] for _, _, low, size in trained if size != best[3])
    return best[3], "; intervals overlap: train longer, or on more text, to be sure" if close else ""
