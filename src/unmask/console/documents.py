"""What became of the documents that were read, in words.

In: the counts of a `Prepared`, by what happened. Out: each with the words for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from unmask.results import Prepared

WORDS = {
    "read": "read",
    "malformed": "malformed, in quarantine.jsonl",
    "short": "left out: too short",
    "duplicate": "left out: exact duplicates",
    "train": "to train on",
    "valid": "held out to measure on",
}


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
        yield WORDS.get(fate, f"left out: {fate}"), count
