"""What became of the documents that were read, in words.

In: the counts of a `Prepared`, by what happened. Out: each with the words for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmask.results import Prepared

WORDS = {
    "read": "read",
    "malformed": "malformed, in quarantine.jsonl",
    "short": "left out: too short",
    "duplicate": "left out: exact duplicates",
    "train": "to train on",
    "valid": "held out to measure on",
}


def document_counts(prepared: Prepared) -> Iterator[tuple[str, int]]:
    """What happened to how many, in the order of the corpus; a reason that has no words of its own is its own word."""
    for fate, count in prepared.counts.items():
        yield WORDS.get(fate, f"left out: {fate}"), count
