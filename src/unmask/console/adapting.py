"""Adapted models for people in a terminal: both losses before and after, and the mixtures between."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.layout import draw_page, draw_table, fact_line, next_commands, title_line
from unmask.quantities import format_bar, format_duration
from unmask.results import Adapted, NewWords

NAMES = {
    "loss": ("domain loss", ".3f"),
    "accuracy": ("domain accuracy", ".1%"),
    "general_loss": ("general loss", ".3f"),
    "general_accuracy": ("general accuracy", ".1%"),
}


def draw_adapted(result: Adapted) -> RenderableType:
    """What was gained in the domain, what was forgotten, and what is kept."""
    rows = [
        (title, f"{result.before[name]:{how}}", f"{result.after[name]:{how}}", _change(result, name, how))
        for name, (title, how) in NAMES.items()
        if name in result.before
    ]
    sentences = [said for said in (result.ended, result.why) if said is not None]
    said = " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)
    return draw_page(
        title_line("Adapted", result.model, f"{result.steps:,} steps; {format_duration(result.seconds)}"),
        draw_table(("on all held-out text", "before", "after", "change"), rows, numbers=(1, 2, 3)),
        *([] if result.new_words is None else [Padding(Text(_new_words(result.new_words)), (0, 1))]),
        _mixtures(result),
        Padding(Text(said), (0, 1)),
        *([] if "general_loss" in result.before else [Padding(Text(UNSEEN, style="yellow"), (0, 1))]),
        fact_line("sha256", result.weights_sha256),
        next_commands(result.next),
    )


UNSEEN = "No --replay: what it forgot of general language cannot be seen. Give general data to measure it on."


def _new_words(new: NewWords) -> str:
    held_out = f"held-out domain text is {new.tokens_after:,} tokens instead of {new.tokens_before:,}"
    return f"{new.words:,} new words: {held_out} ({-new.saved:+.1%})."


def _change(result: Adapted, name: str, how: str) -> str:
    return f"{result.after[name] - result.before[name]:+{how}}"


def _mixtures(result: Adapted) -> RenderableType:
    """The eleven mixtures, the one that is kept marked."""
    worst = max(mixture.loss for mixture in result.mixtures)
    best = min(mixture.loss for mixture in result.mixtures)
    rows = []
    for mixture in result.mixtures:
        gain = (worst - mixture.loss) / max(1e-9, worst - best)
        general = "" if mixture.general_loss is None else f"{mixture.general_loss:.3f}"
        mark = "kept" if mixture.share == result.kept else ""
        rows.append((f"{mixture.share:.0%}", f"{mixture.loss:.3f}", general, format_bar(gain), mark))
    heads = ("of the way", "domain", "general", "gain in the domain", "")
    return draw_table(heads, rows, numbers=(0, 1, 2))
