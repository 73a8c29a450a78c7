"""Lines that are no part of any text because they are a part of all: menus, notices, signatures.

In: a sample of the corpus. Out: the lines to cut out wherever they stand. The law: a line of at most 200 characters is
boilerplate if it stands, the same to the letter, in at least ten documents of the sample and in one of fifty of those
from its source's folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from unmask.records import Document

LONGEST = 200  # characters
LEAST, SHARE = 10, 0.02  # documents of the sample, and of those of a folder
MOST_LINES = 1_000


def boilerplate_lines(documents: Iterable[Document]) -> tuple[str, ...]:
    """The lines that are boilerplate in a sample of clean documents, most frequent first."""
    documents_in: Counter[str] = Counter()
    lines_in: dict[str, Counter[str]] = {}
    for document in documents:
        folder = str(PurePath(document.source).parent)
        documents_in[folder] += 1
        lines = {line for line in document.text.split("\n") if line and len(line) <= LONGEST}
        lines_in.setdefault(folder, Counter()).update(lines)
    found: Counter[str] = Counter()
    for folder, lines_of in lines_in.items():
        least = max(LEAST, SHARE * documents_in[folder])
        found.update({line: count for line, count in lines_of.items() if count >= least})
    return tuple(line for line, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST_LINES])
