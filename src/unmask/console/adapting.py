"""Adapted models for people in a terminal: both losses before and after, and the mixtures between."""

from __future__ import annotations

from math import isfinite

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, fact_line, next_commands, title_line
from unmask.quantities import format_bar, format_duration
from unmask.results import Adapted, Figure, NewWords

SHOWN = 4  # sentences, and terms; the report has all


def draw_adapted(result: Adapted) -> RenderableType:
    """What was gained in the domain, what was forgotten, and what is kept."""
    sentences = [said for said in (result.ended, result.why) if said is not None]
    said = " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)
    return draw_page(
        title_line("Adapted", result.model, f"{result.steps:,} steps; {format_duration(result.seconds)}"),
        _changes(result),
        *([] if result.new_words is None else [Padding(Text(_new_words(result.new_words)), (0, 1))]),
        _mixtures(result),
        Padding(Text(said), (0, 1)),
        *([_fills(result)] if result.fills else []),
        *([_neighbours(result)] if result.neighbours else []),
        *([_likeness(result), Padding(Text(TUNE_AGAIN, style="yellow"), (0, 1))] if result.likeness else []),
        *([] if "general_loss" in result.before else [Padding(Text(UNSEEN, style="yellow"), (0, 1))]),
        fact_line("sha256", result.weights_sha256),
        next_commands(result.next),
    )


UNSEEN = "No --replay: what it forgot of general language cannot be seen. Give general data to measure it on."


def _new_words(new: NewWords) -> str:
    held_out = f"held-out domain text is {new.tokens_after:,} tokens instead of {new.tokens_before:,}"
    return f"{new.words:,} new words: {held_out} ({-new.saved:+.1%})."


TUNE_AGAIN = "Tuning comes after adapting: tune it for sentences again (unmask tune similarity or retrieve)."


def _changes(result: Adapted) -> RenderableType:
    """Both texts before and after; changes with their intervals."""
    rows: list[tuple[str, ...]] = []
    for title, text in (("domain", result.domain), ("general", result.general)):
        if text is None:
            continue
        rows.append((f"{title} loss", *_columns(text.before, text.after, text.change)))
        rows.append((f"{title} bits a byte", *_columns(text.bits_before, text.bits_after, text.bits_change)))
        tokens = text.fertility_after, text.fertility_before
        change = f"{tokens[0] - tokens[1]:+.3f}"
        rows.append((f"{title} tokens a word", f"{tokens[1]:.3f}", f"{tokens[0]:.3f}", change))
        name = "accuracy" if title == "domain" else "general_accuracy"
        accuracy = result.after[name], result.before[name]
        change = f"{accuracy[0] - accuracy[1]:+.1%}"
        rows.append((f"{title} accuracy", f"{accuracy[1]:.1%}", f"{accuracy[0]:.1%}", change))
    return draw_table(("on all held-out text", "before", "after", "change"), rows, numbers=(1, 2, 3))


def _columns(before: Figure, after: Figure, change: Figure) -> tuple[str, str, str]:
    half = (change.high - change.low) / 2
    known = f" ±{half:.3f}" if isfinite(half) else ""
    return f"{before.value:.3f}", f"{after.value:.3f}", f"{change.value:+.3f}{known}"


def _fills(result: Adapted) -> RenderableType:
    rows = [(each.text, each.answer, _words(each.before), _words(each.after)) for each in result.fills[:SHOWN]]
    return draw_table(("a sentence of the domain", "was", "before", "after"), rows, numbers=())


def _neighbours(result: Adapted) -> RenderableType:
    rows = [(each.term, _words(each.before), _words(each.after)) for each in result.neighbours[:SHOWN]]
    return draw_table(("nearest words of", "before", "after"), rows, numbers=())


def _words(words: tuple[str, ...]) -> str:
    return " · ".join(words[:3])  # a comma may be one of them


def _likeness(result: Adapted) -> RenderableType:
    rows = [(each.measure, f"{each.before.value:.3f}", f"{each.after.value:.3f}") for each in result.likeness]
    return draw_table(("vectors of sentences", "before", "after"), rows, numbers=(1, 2))


def _mixtures(result: Adapted) -> RenderableType:
    """The mixtures, the one that is kept marked."""
    worst = max(mixture.loss for mixture in result.mixtures)
    best = min(mixture.loss for mixture in result.mixtures)
    rows = []
    for mixture in result.mixtures:
        gain = (worst - mixture.loss) / max(1e-9, worst - best)
        general = "" if mixture.general_loss is None else f"{mixture.general_loss:.3f}"
        mark = "kept" if mixture.share == result.kept else ""
        rows.append((f"{100 * mixture.share:.4g}%", f"{mixture.loss:.3f}", general, format_bar(gain), mark))
    heads = ("of the way", "domain", "general", "gain in the domain", "")
    return draw_table(heads, rows, numbers=(0, 1, 2))
