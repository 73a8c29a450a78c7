"""What the rules make of a document: its text after them, or the rule that drops it and why."""

from __future__ import annotations

from dataclasses import dataclass

from unmask.records import Mark


@dataclass(frozen=True, slots=True)
class Ruling:
    """One document after the rules."""

    text: str  # the given one, the same object, where no rule changed it
    marks: tuple[Mark, ...] = ()  # moved with the text
    dropped: str | None = None  # the first rule that drops it; none: it stays
    value: float | str | None = None  # what that rule measured, or names
    limit: float | str | None = None  # what it would have had to be
    changed: tuple[str, ...] = ()  # the rules that changed the text, in order
    language: str | None = None  # as py3langid tells it, where it is asked for; und: nobody can say, zxx: no language
    score: float | None = None  # of the language, 0 to 1
    touched: str | None = None  # the held-out item that it shares some words with, and does not contain
    shared: tuple[int, ...] = ()  # the runs of words that it has in common with held-out items, by number
