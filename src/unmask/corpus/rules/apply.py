"""The rules over documents, in order: the language of each, its lines, what is masked, its figures, its leaks.

In: clean texts and their marks. Out: a `Ruling` each. A document is measured as it is after the rules that
change it, because that is what a model would learn from. Figures are taken of many together, which is a matter of time
alone: each is judged as if it were the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from unmask.corpus.rules.edits import clean_again, replace_stretches
from unmask.corpus.rules.figures import TextFigures, repeated_runs
from unmask.corpus.rules.language import identifier
from unmask.corpus.rules.lines import LINE_RULES, NEEDED, citations, cut_lines
from unmask.corpus.rules.personal import personal_stretches
from unmask.corpus.rules.ruling import Ruling
from unmask.corpus.rules.settings import LEAST_SCORE, RuleSettings
from unmask.corpus.rules.table import DOCUMENT_RULES, Limits
from unmask.corpus.rules.units import units_of
from unmask.records import Mark

if TYPE_CHECKING:
    from unmask.corpus.rules.contamination import HeldOutItems

Judge = Callable[[Sequence[str], Sequence[tuple[Mark, ...]]], list[Ruling]]

GROUP = 1 << 17  # characters of texts that are measured together: what fits in a processor's cache


def rules_of(settings: RuleSettings) -> Judge:
    """The rules that are on as one function of documents; what they need is loaded here."""
    tells = settings.tell_language or settings.languages
    identify = identifier() if tells or "gopher-stop-words" in settings.limits else None
    items = _items(settings)

    def begin(text: str, marks: tuple[Mark, ...]) -> tuple[Ruling, TextFigures]:
        """A document after the rules that change it, and its figures; dropped if it is in a language not asked for."""
        language, score = identify(text) if identify and tells else (None, None)
        if settings.languages and (language not in settings.languages or (score or 0) < LEAST_SCORE):
            asked = " or ".join(settings.languages)
            ruling = Ruling(text, marks, "language", f"{language} {score:.2f}", asked, (), language, score)
            return ruling, TextFigures(text)
        edited = change_text(text, marks, settings)
        figures = TextFigures(edited.text, language=language, identify=identify, removed=edited.removed)
        figures.lower = edited.lower
        return Ruling(edited.text, edited.marks, None, None, None, edited.rules, language, score), figures

    def look_for_items(ruling: Ruling) -> Ruling:
        if items is None or not (shared := items.look_in(ruling.text)):
            return ruling
        drops = "decontaminate" if shared.contains else None
        touched = None if drops else shared.touches
        return replace(ruling, dropped=drops, value=shared.contains, touched=touched, shared=shared.runs)

    def judge(texts: Sequence[str], marks: Sequence[tuple[Mark, ...]]) -> list[Ruling]:
        rulings: list[Ruling] = []
        for group in _groups(texts):
            begun = [begin(*row) for row in zip(texts[group], marks[group], strict=True)]
            judged = judge_figures(begun, settings.limits)
            rulings += [ruling if ruling.dropped else look_for_items(ruling) for ruling in judged]
        return rulings

    return judge


def _groups(texts: Sequence[str]) -> Iterator[slice]:
    """Texts that are measured together, in order."""
    begin = size = 0
    for number, text in enumerate(texts, 1):
        size += len(text)
        if size >= GROUP or number == len(texts):
            yield slice(begin, number)
            begin, size = number, 0


def judge_figures(begun: Sequence[tuple[Ruling, TextFigures]], limits: Mapping[str, Limits]) -> Iterator[Ruling]:
    """Documents with the first rule, in the order of the table, whose limits their figures are beyond.

    Units are counted of all of them at once, and repeated runs of those that no rule before drops.
    """
    if not limits:
        return (ruling for ruling, _ in begun)
    measured = [figures for ruling, figures in begun if not ruling.dropped]
    for figures, units in zip(measured, units_of([each.text for each in measured]), strict=True):
        figures.units = units
    names = [*limits]
    first = next((number for number, name in enumerate(names) if DOCUMENT_RULES[name].of_runs), len(names))
    early, late = ({name: limits[name] for name in some} for some in (names[:first], names[first:]))
    judged = [(ruling if ruling.dropped else drop_beyond(ruling, figures, early), figures) for ruling, figures in begun]
    if not late:
        return (ruling for ruling, _ in judged)
    left = [figures for ruling, figures in judged if not ruling.dropped]
    for figures, runs in zip(left, repeated_runs([each.units for each in left]), strict=True):
        figures.runs = runs
    return (ruling if ruling.dropped else drop_beyond(ruling, figures, late) for ruling, figures in judged)


def drop_beyond(ruling: Ruling, figures: TextFigures, limits: Mapping[str, Limits]) -> Ruling:
    """The ruling, or that the document is dropped by the first rule whose limits it is beyond."""
    for name, value, limit in beyond_limits(figures, limits):
        return replace(ruling, dropped=name, value=value, limit=limit)
    return ruling


def _items(settings: RuleSettings) -> HeldOutItems | None:
    if not settings.decontaminate:
        return None
    from unmask.corpus.rules.contamination import held_out_items

    return held_out_items(settings.decontaminate, settings.items_digest)


class EditedText(NamedTuple):
    """A text after the rules that change it."""

    text: str  # the given one, the same object, where none has
    lower: str  # the same in lower case
    marks: tuple[Mark, ...]
    rules: tuple[str, ...]  # those that changed it
    removed: float  # the share of words that dclm's took


def change_text(text: str, marks: tuple[Mark, ...], settings: RuleSettings) -> EditedText:
    """The text after the rules that change it."""
    changed: list[str] = []
    removed = 0.0
    if "c4-citations" in settings.edits and (cuts := citations(text)):
        text, marks = clean_again(*replace_stretches(text, marks, cuts))
        changed.append("c4-citations")
    lower = text.lower()
    goes, reasons = lines_to_go(text, lower, settings)
    if reasons:
        words = [len(line.split()) for line in text.split("\n")] if any(map(_is_of_dclm, reasons)) else []
        taken = sum(count for count, reason in zip(words, goes, strict=False) if reason and _is_of_dclm(reason))
        removed = taken / max(sum(words), 1)
        text, marks = replace_stretches(text, marks, cut_lines(text, [reason is not None for reason in goes]))
        changed += reasons
    if "personal" in settings.edits and (masked := personal_stretches(text)):
        text, marks = replace_stretches(text, marks, masked)
        changed.append("personal")
    lower = text.lower() if changed and changed != ["c4-citations"] else lower
    return EditedText(text, lower, marks, tuple(changed), removed)


def _is_of_dclm(name: str) -> bool:
    return name.startswith("dclm-")


def lines_to_go(text: str, lower: str, settings: RuleSettings) -> tuple[list[str | None], list[str]]:
    """For each line the first rule that takes it, if one does; and these rules, in the order of the table.

    A line in lower case is not always the same stretch of the text in lower case (a Greek sigma looks at what is behind
    it), so that the lower text is asked only whether any line could go.
    """
    lines = text.split("\n") if text else []
    goes: list[str | None] = [None] * len(lines)
    reasons: list[str] = []
    known = frozenset(settings.boilerplate)
    for name in settings.edits:
        if name == "boilerplate":
            takes: Callable[[str], bool] = known.__contains__
        elif name not in LINE_RULES or (name in NEEDED and not NEEDED[name](lower)):
            continue
        else:
            takes = LINE_RULES[name]
        for number in [number for number, line in enumerate(lines) if takes(line)]:
            if goes[number] is None:
                goes[number] = name
                if not reasons or reasons[-1] != name:
                    reasons.append(name)
    return goes, reasons


def beyond_limits(figures: TextFigures, limits: Mapping[str, Limits]) -> Iterator[tuple[str, float, float]]:
    """The rules that drop a document, in the order of the table: the rule, its figure, the limit it is beyond."""
    for name, (low, high) in limits.items():
        rule = DOCUMENT_RULES[name]
        if rule.at_least is not None and high is None and (low is None or rule.at_least(figures) >= low):
            continue  # what it measures is no less
        value = rule.measure(figures)
        if value is None:
            continue
        if low is not None and value < low:
            yield name, value, low
        elif high is not None and value > high:
            yield name, value, high
