"""What came of an adaptation, as sections of the run's page: before and after, the trade-off, fills, neighbours.

In: `adapted.json` of a run and its history. Out: HTML without scripts; everything from data is escaped.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from unmask.runs.history import HELD_OUT, History
from unmask.runs.page import html_figures

RESULT = "adapted.json"
TITLES = {"domain": "domain", "general": "general text"}

Values = Mapping[str, Any]


def adapted_sections(history: History) -> str:
    """The sections of a run that was adapted; nothing of any other."""
    adapted = read_adapted(history.path)
    if adapted is None:
        return ""
    return "".join(f"<section><h2>{escape(title)}</h2>{body}</section>" for title, body in _sections(history, adapted))


def kept_figures(run: Path) -> Iterator[tuple[str, str]]:
    """What the model of an adaptation is like, which is a mixture and not the end of the way; nothing of other runs."""
    adapted = read_adapted(run)
    if adapted is None or adapted["kept"] == 1:
        return
    for name, title in TITLES.items():
        if isinstance(text := adapted.get(name), dict):
            yield f"{text['after']['value']:.3f}", f"{title}: loss of what is kept, {adapted['kept']:.0%} of the way"


def read_adapted(run: Path) -> Values | None:
    """What was measured of an adaptation, if this is one that is finished."""
    try:
        adapted = json.loads((run / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return adapted if isinstance(adapted, dict) and "mixtures" in adapted else None


def _sections(history: History, adapted: Values) -> Iterator[tuple[str, str]]:
    said = " ".join(f"{each[0].upper()}{each[1:]}." for each in (adapted.get("ended"), adapted.get("why")) if each)
    yield "Adapted", f"<p>{escape(said)}</p>{plot_adapted(history, adapted)}"
    yield "Before and after, on all held-out text", _changes(adapted)
    if fills := adapted.get("fills"):
        rows = [(each["text"], each["answer"], *map(_listed, (each["before"], each["after"]))) for each in fills]
        yield "Sentences of the domain, filled", html_figures(("sentence", "stood there", "before", "after"), rows)
    if neighbours := adapted.get("neighbours"):
        rows = [(each["term"], *map(_listed, (each["before"], each["after"]))) for each in neighbours]
        yield "Nearest words of the domain's terms", html_figures(("term", "before", "after"), rows)
    if likeness := adapted.get("likeness"):
        rows = [(each["measure"], *map(_spelt, (each["before"], each["after"]))) for each in likeness]
        yield "Vectors of sentences; tuning comes after adapting", html_figures(("measure", "before", "after"), rows)


def _changes(adapted: Values) -> str:
    rows = []
    for name, title in TITLES.items():
        if not isinstance(text := adapted.get(name), dict):
            continue
        rows += [
            (f"{title}: nats a token", *(_spelt(text[each]) for each in ("before", "after", "change"))),
            (f"{title}: bits a byte", *(_spelt(text[f"bits_{each}"]) for each in ("before", "after", "change"))),
        ]
        tokens = (text["fertility_before"], text["fertility_after"])
        rows.append((f"{title}: tokens a word", *(f"{each:.3f}" for each in (*tokens, tokens[1] - tokens[0]))))
    return html_figures(("", "before", "after", "change, paired by document"), rows)


def _listed(words: Sequence[str]) -> str:
    return " · ".join(words)  # a comma may be one of them


def _spelt(figure: Values) -> str:
    value, low, high = (figure[name] for name in ("value", "low", "high"))
    known = low is not None  # one document alone tells no interval
    return f"{value:.3f} ({low:.3f} to {high:.3f})" if known else f"{value:.3f}"


def plot_adapted(history: History, adapted: Values) -> str:
    """Both losses on the way, and the mixtures of before and after with the one that is kept: an SVG."""
    import matplotlib
    from matplotlib.figure import Figure as Drawing

    from unmask.runs.plot import HELD_OUT_COLOUR, NOTHING, STYLE, TRAINING_COLOUR

    mixtures = adapted["mixtures"]
    general = all(mixture.get("general_loss") is not None for mixture in mixtures)
    with matplotlib.rc_context(STYLE):
        drawing = Drawing(figsize=(11, 4), dpi=110, layout="constrained")
        way, trade = drawing.subplots(1, 2)
        curves = (("loss", "domain", HELD_OUT_COLOUR), ("general_loss", "general text", TRAINING_COLOUR))
        for name, label, colour in curves:
            tokens, values = history.curve(HELD_OUT + name)
            if values:
                way.plot(tokens, values, "o-", color=colour, linewidth=1.6, markersize=4, label=label)
        way.set_title("Held-out loss on the way, nats a token", loc="left")
        way.set_xlabel("tokens seen")
        way.legend(loc="best")
        across = [mixture["general_loss"] if general else mixture["share"] for mixture in mixtures]
        trade.plot(across, [mixture["loss"] for mixture in mixtures], "o-", color=HELD_OUT_COLOUR, markersize=4)
        kept = next(place for place, mixture in enumerate(mixtures) if mixture["share"] == adapted["kept"])
        point = (across[kept], mixtures[kept]["loss"])
        trade.plot(*point, "*", color=TRAINING_COLOUR, markersize=15, label=f"kept: {adapted['kept']:.0%} of the way")
        if general and adapted.get("forget") is not None:
            limit = across[0] + adapted["forget"]
            trade.axvline(limit, color=TRAINING_COLOUR, linestyle="--", label=f"--forget {adapted['forget']}")
        trade.set_title("Mixtures of before and after", loc="left")
        trade.set_xlabel("general loss" if general else "share of the weights after")
        trade.set_ylabel("domain loss")
        trade.legend(loc="best")
        page = io.BytesIO()
        drawing.savefig(page, format="svg", metadata=NOTHING)
    text = page.getvalue().decode()
    return text[text.index("<svg") :]
