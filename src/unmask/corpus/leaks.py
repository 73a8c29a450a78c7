"""How much of the held-out text stands in the training text: before duplicates are left out, and after.

In: parts that are read, and what is decided of their documents. Out: the share of the runs of eight words of some
held-out documents that also stand in documents to train on. *Before* is what it would be if nothing were left out and
each document were on the side that its own text gives it; *after* is what it is. In scripts without spaces a character
is a word. A run that everybody writes counts too, so that a clean corpus has a little and not nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmask.corpus.dedup import Digests
from unmask.corpus.near.candidates import staged_texts
from unmask.corpus.near.shingles import ODD, SHINGLE, Hashes, shingles_of
from unmask.corpus.staged import StagedPart
from unmask.records import Flags, Integers

RUN = 8  # words
DOCUMENTS = 500  # held-out documents that are looked for, at most
BEFORE, AFTER = "leak-before", "leak-after"  # how the files beside a part begin


@dataclass(frozen=True, kw_only=True)
class Leak:
    """The share of held-out text that is in the training text."""

    documents: int  # held-out ones that were looked for, of those that stay
    runs: int  # of eight words in them, different ones
    before: float
    after: float


def measure_leak(
    parts: Sequence[StagedPart],
    digests: Digests,
    *,
    before: Flags,
    stays: Flags,
    is_valid: Flags,
    run: Callable[[Sequence[StagedPart]], object],
) -> Leak | None:
    """Look for held-out documents in the others; `run` has `write_seen` run over parts. None where all are too short.

    `before` are the documents that their own text holds out; of those that stay, some are held out now.
    """
    sides = {BEFORE: (before, ~before), AFTER: (stays & is_valid, stays & ~is_valid)}
    documents = 0
    for name, (held_out, trained) in sides.items():
        (rows,) = np.nonzero(held_out)
        chosen = np.sort(rows[np.argsort(digests[rows, 1], kind="stable")[:DOCUMENTS]])
        texts = [text for part in parts for text in _texts(part, chosen)]
        known = np.unique(np.concatenate([np.empty(0, np.uint64), *map(word_runs, texts)]))
        if not len(known):
            return None
        documents = len(chosen)
        for part in parts:
            np.save(part.folder / f"{name}.runs.npy", known)
            np.save(part.folder / f"{name}.trained.npy", trained[part.rows])
    run(parts)
    shares, runs = {}, 0
    for name in sides:
        seen = np.logical_or.reduce([np.load(part.folder / f"{name}.seen.npy") for part in parts])
        shares[name], runs = float(seen.mean()), len(seen)
    return Leak(documents=documents, runs=runs, before=shares[BEFORE], after=shares[AFTER])


def _texts(part: StagedPart, rows: Integers) -> Iterator[str]:
    begin, end = np.searchsorted(rows, (part.rows.start, part.rows.stop))
    return (text for some in staged_texts(part.folder, rows[begin:end] - part.begin) for text in some)


def write_seen(folder: Path) -> None:
    """Of each run that is looked for, whether documents of a part to train on have it."""
    known = {name: np.load(folder / f"{name}.runs.npy") for name in (BEFORE, AFTER)}
    trained = {name: np.load(folder / f"{name}.trained.npy") for name in known}
    seen = {name: np.zeros(len(runs), np.bool_) for name, runs in known.items()}
    texts = (text for some in staged_texts(folder, np.arange(len(trained[BEFORE]))) for text in some)
    for row, text in enumerate(texts):
        sides = [name for name in known if trained[name][row]]
        runs = word_runs(text) if sides else np.empty(0, np.uint64)
        for name in sides:
            places = np.searchsorted(known[name], runs)
            places[places == len(known[name])] = 0
            seen[name][places[known[name][places] == runs]] = True
    for name, flags in seen.items():
        np.save(folder / f"{name}.seen.npy", flags)


def word_runs(text: str) -> Hashes:
    """The hashes of the runs of eight words of a text: of two shingles of five that overlap.

    >>> one, other = word_runs("a b c d e f g h i"), word_runs("B c d, e f g h i!")
    >>> len(one), one[1:].tolist() == other.tolist()
    (2, True)
    """
    shingles = shingles_of([text]).hashes
    apart = RUN - SHINGLE
    return shingles[:-apart] * ODD ^ shingles[apart:] if len(shingles) > apart else np.empty(0, np.uint64)
