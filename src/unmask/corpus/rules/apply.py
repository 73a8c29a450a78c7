"""The rules over one document, in order: its language, its lines, what is masked, its figures, its leaks.

In: a clean text and its marks. Out: a `Ruling`. A document is measured as it is after the rules that change it, because
that is what a model would learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from unmask.corpus.rules.edits import clean_again, replace_stretches
from unmask.corpus.rules.figures import TextFigures
from unmask.corpus.rules.language import identifier
from unmask.corpus.rules.lines import LINE_RULES, NEEDED, citations, cut_lines
from unmask.corpus.rules.personal import personal_stretches
from unmask.corpus.rules.ruling import Ruling
from unmask.corpus.rules.settings import LEAST_SCORE, RuleSettings
from unmask.corpus.rules.table import DOCUMENT_RULES, Limits
from unmask.records import Mark

if TYPE_CHECKING:
    from unmask.corpus.rules.contamination import HeldOutItems

Judge = Callable[[str, tuple[Mark, ...]], Ruling]


def rules_of(settings: RuleSettings) -> Judge:
    """The rules that are on as one function of a document; what they need is loaded here."""
    tells = settings.tell_language or settings.languages
    identify = identifier() if tells or "gopher-stop-words" in settings.limits else None

    items = _items(settings)

    def judge(text: str, marks: tuple[Mark, ...] = ()) -> Ruling:
        language, score = identify(text) if identify and tells else (None, None)
        if settings.languages and (language not in settings.languages or (score or 0) < LEAST_SCORE):
            asked = " or ".join(settings.languages)
            return Ruling(text, marks, "language", f"{language} {score:.2f}", asked, (), language, score)
        text, marks, changed, removed = change_text(text, marks, settings)
        figures = TextFigures(text, language=language, identify=identify, removed=removed)
        ruling = Ruling(text, marks, None, None, None, changed, language, score)
        for name, value, limit in beyond_limits(figures, settings.limits):
            return replace(ruling, dropped=name, value=value, limit=limit)
        if items is not None and (shared := items.look_in(text)):
            drops = "decontaminate" if shared.contains else None
            touched = None if drops else shared.touches
            return replace(ruling, dropped=drops, value=shared.contains, touched=touched, shared=shared.runs)
        return ruling

    return judge


def _items(settings: RuleSettings) -> HeldOutItems | None:
    if not settings.decontaminate:
        return None
    from unmask.corpus.rules.contamination import held_out_items

    return held_out_items(settings.decontaminate, settings.items_digest)


def change_text(
    text: str, marks: tuple[Mark, ...], settings: RuleSettings
) -> tuple[str, tuple[Mark, ...], tuple[str, ...], float]:
    """The text after the rules that change it, its marks, which they were, and the share of words that dclm's took."""
    changed: list[str] = []
    removed = 0.0
    if "c4-citations" in settings.edits and (cuts := citations(text)):
        text, marks = clean_again(*replace_stretches(text, marks, cuts))
        changed.append("c4-citations")
    lines = text.split("\n") if text else []
    goes, reasons = lines_to_go(text, lines, settings)
    if reasons:
        words = [len(line.split()) for line in lines] if any(name.startswith("dclm-") for name in reasons) else []
        taken = sum(count for count, reason in zip(words, goes, strict=False) if reason and reason.startswith("dclm-"))
        removed = taken / max(sum(words), 1)
        text, marks = replace_stretches(text, marks, cut_lines(text, [reason is not None for reason in goes]))
        changed += reasons
    if "personal" in settings.edits and (masked := personal_stretches(text)):
        text, marks = replace_stretches(text, marks, masked)
        changed.append("personal")
    return text, marks, tuple(changed), removed


def lines_to_go(text: str, lines: Sequence[str], settings: RuleSettings) -> tuple[list[str | None], list[str]]:
    """For each line the first rule that takes it, if one does; and these rules, in the order of the table."""
    goes: list[str | None] = [None] * len(lines)
    reasons: list[str] = []
    known = frozenset(settings.boilerplate)
    for name in settings.edits:
        if name == "boilerplate":
            takes: Callable[[str], bool] = known.__contains__
        elif name not in LINE_RULES or (name in NEEDED and not NEEDED[name](text)):
            continue
        else:
            takes = LINE_RULES[name]
        for number, line in enumerate(lines):
            if goes[number] is None and takes(line):
                goes[number] = name
                if not reasons or reasons[-1] != name:
                    reasons.append(name)
    return goes, reasons


def beyond_limits(figures: TextFigures, limits: Mapping[str, Limits]) -> Iterator[tuple[str, float, float]]:
    """The rules that drop a document, in the order of the table: the rule, its figure, the limit it is beyond."""
    for name, (low, high) in limits.items():
        value = DOCUMENT_RULES[name].measure(figures)
        if value is None:
            continue
        if low is not None and value < low:
            yield name, value, low
        elif high is not None and value > high:
            yield name, value, high
