"""What became of the documents that were read, in words.

In: the counts of a `Prepared`, by what happened. Out: each with the words for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from unmask.quantities import spell_counts
from unmask.results import Prepared

WORDS = {
    "read": "read",
    "malformed": "malformed, in quarantine.jsonl",
    "short": "left out: too short",
    "dropped": "left out: by rules",
    "duplicate": "left out: exact duplicates",
    "near_duplicate": "left out: near-duplicates",
    "train": "to train on",
    "valid": "held out to measure on",
}


MOST_RULES = 8  # that are named
OFFICE = (".pdf", ".docx")  # which an extra reads


def office_hint(passed_over: Mapping[str, int]) -> str:
    """How to read what was passed over, where an extra does.

    >>> office_hint({".pdf": 3, ".bin": 1}), office_hint({".bin": 1})
    ("pip install 'unmask[office]' reads .pdf", '')
    """
    kinds = [suffix for suffix in OFFICE if suffix in passed_over]
    return f"pip install 'unmask[office]' reads {' and '.join(kinds)}" if kinds else ""


def first_names(names: Sequence[str], most: int = 2) -> str:
    """The first few names, and a sign that there are others.

    >>> first_names(["de", "en"]), first_names(["de", "en", "fr"])
    ('de, en', 'de, en, …')
    """
    return ", ".join([*names[:most], *(["…"] if len(names) > most else [])])


def document_counts(prepared: Prepared) -> Iterator[tuple[str, int]]:
    """What happened to how many, in the order of the corpus; a reason that has no words of its own is its own word."""
    for fate, count in prepared.counts.items():
        yield f"documents {WORDS.get(fate, f'left out: {fate}')}", count
        if fate == "dropped":
            named = list(prepared.dropped.items())
            yield from ((f"  by {rule}", number) for rule, number in named[:MOST_RULES])
            if len(named) > MOST_RULES:
                yield f"  by {len(named) - MOST_RULES} other rules", sum(number for _, number in named[MOST_RULES:])


def rule_rows(prepared: Prepared) -> Iterator[tuple[str, str, str]]:
    """What rules changed and told, and how much of held-out items was there; each with what is to be said of it."""
    changed = list(prepared.changed.items())[:MOST_RULES]
    yield from ((f"changed by the rule {rule}", f"{count:,}", "") for rule, count in changed)
    if prepared.languages_told:
        yield "languages told", f"{len(prepared.languages_told):,}", spell_counts(prepared.languages_told, 3)
    if (leak := prepared.decontaminated) is not None:
        yield "held-out items", f"{leak.items:,}", f"{leak.too_short:,} are too short" if leak.too_short else ""
        yield "documents touched by one", f"{leak.touched:,}", "8 words in a row"
        yield "leak before, after", f"{leak.before:.2%}", f"{leak.after:.2%} of the items"
