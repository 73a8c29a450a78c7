"""What rules would do, tried on a sample: how many documents each would drop or change, and which, before any does.

In: clean documents and rules. Out: for each rule its counts and some examples. Every rule is asked about every
document, also where another one has dropped it already; so the counts say what each rule does by itself, and `only`
how many documents it alone would drop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from unmask.corpus.rules.apply import beyond_limits, change_text, lines_to_go, rules_of
from unmask.corpus.rules.figures import TextFigures
from unmask.corpus.rules.language import identifier
from unmask.corpus.rules.lines import citations
from unmask.corpus.rules.personal import personal_stretches
from unmask.corpus.rules.settings import RuleSettings
from unmask.corpus.rules.table import DOCUMENT_RULES
from unmask.records import Document
from unmask.results import RuleExample, RuleTrial

EXAMPLES = 10  # of a rule
EXCERPT = 200  # characters
LANGUAGE, DECONTAMINATE = "language", "decontaminate"


@dataclass
class _Tally:
    """What a rule did so far."""

    dropped: int = 0
    only: int = 0
    changed: int = 0
    examples: list[RuleExample] = field(default_factory=list)

    def show(self, document: Document, text: str, value: float | str | None) -> None:
        """Keep a document as an example, if there are few."""
        if len(self.examples) < EXAMPLES:
            excerpt = " / ".join(text.split("\n"))[:EXCERPT]
            self.examples.append(RuleExample(document.source, document.line, value, excerpt))


@dataclass(frozen=True)
class RuleSample:
    """A sample under the rules."""

    documents: int
    bytes: int
    dropped: int  # documents that any rule would drop
    dropped_bytes: int
    rules: tuple[RuleTrial, ...]  # most dropped first; those that did nothing last
    languages: dict[str, int]  # documents in each, most first, where they are told


OnDocument = Callable[[Document, str, frozenset[str]], object]  # hears of one, its text, and the rules that drop it


def try_rules(
    documents: Iterable[Document],
    settings: RuleSettings,
    on_document: OnDocument = lambda document, text, drops: None,
) -> RuleSample:
    """Ask every rule about every document of a sample."""
    tallies = {name: _Tally() for name in _names(settings)}
    identify = identifier() if settings.languages or settings.tell_language else None
    whole = rules_of(RuleSettings(decontaminate=settings.decontaminate, items_digest=settings.items_digest))
    languages: Counter[str] = Counter()
    counts = np.zeros(4, np.int64)  # documents, bytes, dropped, dropped bytes
    for document in documents:
        language, score = identify(document.text) if identify else (None, None)
        languages.update([language] if language else [])
        text, _, _, changed, removed = change_text(document.text, (), settings)
        figures = TextFigures(text, language=language, identify=identify or identifier(), removed=removed)
        drops: dict[str, float | str | None] = {}
        if settings.languages and language not in settings.languages:
            drops[LANGUAGE] = f"{language} {score:.2f}"
        drops |= {name: value for name, value, _ in beyond_limits(figures, settings.limits)}
        if settings.decontaminate and (ruling := whole([text], [()])[0]).dropped:
            drops[DECONTAMINATE] = ruling.value
        for name in changed:
            tallies[name].changed += 1
            if len(tallies[name].examples) < EXAMPLES:
                tallies[name].show(document, _cut_by(name, document.text, settings) or document.text, None)
        for name, value in drops.items():
            tallies[name].dropped += 1
            tallies[name].only += len(drops) == 1
            tallies[name].show(document, text, value)
        on_document(document, text, frozenset(drops))
        size = len(document.text.encode())
        counts += (1, size, bool(drops), size * bool(drops))
    rows = [_row(name, tally, settings) for name, tally in tallies.items()]
    rows.sort(key=lambda row: -max(row.dropped, row.changed))
    sampled, size, dropped, dropped_size = counts.tolist()
    return RuleSample(sampled, size, dropped, dropped_size, tuple(rows), dict(languages.most_common()))


def _cut_by(name: str, text: str, settings: RuleSettings) -> str:
    """What a rule that changes text would cut out or mask, a line each."""
    if name in ("c4-citations", "personal"):
        stretches = citations(text) if name == "c4-citations" else personal_stretches(text)
        return "\n".join(text[start:end] for start, end, _ in stretches)
    goes, _ = lines_to_go(text, text.lower(), settings)
    return "\n".join(line for line, rule in zip(text.split("\n"), goes, strict=True) if rule == name)


def _names(settings: RuleSettings) -> list[str]:
    special = [(LANGUAGE, settings.languages), (DECONTAMINATE, settings.decontaminate)]
    return [*(name for name, asked in special if asked), *settings.edits, *settings.limits]


def _row(name: str, tally: _Tally, settings: RuleSettings) -> RuleTrial:
    low, high = settings.limits.get(name, (None, None))
    return RuleTrial(
        name=name,
        measures=DOCUMENT_RULES[name].measures if name in DOCUMENT_RULES else "",
        low=low,
        high=high,
        dropped=tally.dropped,
        only=tally.only,
        changed=tally.changed,
        examples=tuple(tally.examples),
    )
