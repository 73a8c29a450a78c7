"""Which rules are on, with which limits: plain values, which the manifest keeps.

In: what a user asks for, `web,-c4-curly-brackets`. Out: the rules that change text, and the limits of those that drop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Self

from unmask.errors import BadInput

ANY_LANGUAGE = "any"  # told for each document, and nothing dropped by it
LEAST_SCORE = 0.5  # of a language that is asked for: below it, another one or none is as likely


@dataclass(frozen=True, kw_only=True)
class RuleSettings:
    """The rules that are on. Truth says whether any but the repair of Unicode is."""

    unicode: bool = True  # text that was decoded wrongly is put right, before cleaning
    languages: tuple[str, ...] = ()  # the documents that stay are in these; none: in any
    tell_language: bool = False  # of each document, which is kept with it
    edits: tuple[str, ...] = ()  # rules that change text, in the order of the table
    limits: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)  # a figure's least and most
    boilerplate: tuple[str, ...] = ()  # lines that are cut out wherever they stand
    decontaminate: tuple[str, ...] = ()  # files of items that no document may contain
    items_digest: str = ""  # of these files

    def __bool__(self) -> bool:
        return bool(self.languages or self.tell_language or self.edits or self.limits or self.decontaminate)

    def with_learnt(
        self, boilerplate: tuple[str, ...], limits: Mapping[str, tuple[float | None, float | None]]
    ) -> Self:
        """The same rules with what was learnt from text."""
        return replace(self, boilerplate=boilerplate, limits=limits)


def choose_rules(
    filters: str = "none",
    *,
    language: str | None = None,
    mask_personal: bool = False,
    decontaminate: tuple[str, ...] = (),
    boilerplate: tuple[str, ...] = (),
    limits: Mapping[str, tuple[float | None, float | None]] | None = None,
    unicode: bool = True,
) -> RuleSettings:
    """The settings that a user asks for; `limits` stand for the published ones where they are given.

    >>> choose_rules("gopher-words,gopher-hashes").limits
    {'gopher-words': (50, 100000), 'gopher-hashes': (None, 0.1)}
    """
    from unmask.corpus.rules.table import DOCUMENT_RULES, EDITS

    names = _named_rules(filters)
    names |= {"personal"} if mask_personal else set()
    given = limits or {}
    languages = tuple(part.strip().lower() for part in (language or "").split(",") if part.strip())
    if ANY_LANGUAGE in languages and len(languages) > 1:
        raise BadInput(f"--language {language}: give {ANY_LANGUAGE}, or languages, not both")
    _check_languages(languages)
    return RuleSettings(
        unicode=unicode,
        languages=() if ANY_LANGUAGE in languages else languages,
        tell_language=bool(languages),
        edits=tuple(name for name in EDITS if name in names),
        limits={name: given.get(name, rule.limits) for name, rule in DOCUMENT_RULES.items() if name in names},
        boilerplate=boilerplate,
        decontaminate=decontaminate,
        items_digest=_digest_of(decontaminate),
    )


def _digest_of(items: tuple[str, ...]) -> str:
    if not items:
        return ""
    from unmask.corpus.rules.contamination import items_digest

    return items_digest(items)


def _check_languages(languages: tuple[str, ...]) -> None:
    if languages and languages != (ANY_LANGUAGE,):
        from unmask.corpus.rules.language import known_languages

        codes = known_languages()
        for language in languages:
            if language not in codes:
                near = get_close_matches(language[:2], codes, n=1)
                remedy = f"did you mean {near[0]}?" if near else f"codes are {', '.join(codes[:8])}, …"
                raise BadInput(f"--language: no language has the code {language!r}; {remedy}")


def _named_rules(filters: str) -> set[str]:
    """The rules of a list of presets and names, those with a minus before them left out."""
    from unmask.corpus.rules.table import ASKED_FOR, DOCUMENT_RULES, EDITS, PRESETS

    groups = {**{name: (name,) for name in (*EDITS, *DOCUMENT_RULES) if name not in ASKED_FOR}, **PRESETS, "none": ()}
    names: set[str] = set()
    for part in filter(None, map(str.strip, filters.split(","))):
        name = part.removeprefix("-")
        if name not in groups:
            near = get_close_matches(name, groups, n=1)
            remedy = f"did you mean {near[0]}?" if near else "unmask prepare --help says where the names are"
            raise BadInput(f"--filters: no rule or preset is called {name!r}; {remedy}")
        names = names - {*groups[name]} if part.startswith("-") else names | {*groups[name]}
    return names
