"""Which held-out examples a model has seen already: among the labels it learnt from, or in the text it was trained on.

In: held-out texts, the texts learnt from, and the model that was started from. Out: `Overlap` for each of those, and
which examples leaked. Of runs of ours the text is known; of a model from elsewhere it is said that it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmask.corpus.overlap import Runs, exact_texts, near_texts
from unmask.errors import UnmaskError
from unmask.files import path_kind
from unmask.progress import task
from unmask.records import Flags
from unmask.results import Overlap
from unmask.runs.lineage import TextRead, texts_read
from unmask.tasks.examples import read_records
from unmask.tokens.store.dataset import Dataset

LEAKED = 0.5  # the share of a text's runs of words, from which on it is taken to be there
TOUCHED = 0.0  # above which a text shares a run at all


@dataclass(frozen=True)
class Leaks:
    """What held-out examples share with what was learnt from."""

    overlaps: tuple[Overlap, ...]
    leaked: Flags  # N: an example that is there exactly, nearly, or by half of its runs

    @property
    def count(self) -> int:
        """How many leaked."""
        return int(self.leaked.sum())


def find_leaks(part: str, texts: Sequence[str], learnt: Sequence[str], start: Path) -> Leaks:
    """Look for held-out texts among those learnt from, and in what the start model has read."""
    runs = Runs(texts)
    with task(f"Looking for {part} texts among those learnt from", total=len(learnt)) as step:
        for text in learnt:
            runs.look_in(text)
            step(1)
    found = [_overlap(part, "train", None, runs, exact_texts(texts, learnt), _near(texts, learnt))]
    for read in texts_read(start):
        runs = Runs(texts)
        try:
            with task(f"Looking for {part} texts in {read.path}"):
                for text in _texts_of(read):
                    runs.look_in(text)
        except (UnmaskError, OSError):
            found.append((Overlap(part=part, source=read.name, path=read.path, known=False), np.zeros(0, np.bool_)))
            continue
        nothing = np.zeros(len(texts), np.bool_)
        found.append(_overlap(part, read.name, read.path, runs, nothing, nothing))
    if len(found) == 1:
        found.append((Overlap(part=part, source="pretraining", path=start, known=False), np.zeros(0, np.bool_)))
    leaked = np.zeros(len(texts), np.bool_)
    for _, flags in found:
        if len(flags):
            leaked |= flags
    return Leaks(tuple(overlap for overlap, _ in found), leaked)


def _overlap(part: str, source: str, path: Path | None, runs: Runs, exact: Flags, near: Flags) -> tuple[Overlap, Flags]:
    shares = runs.shares()
    by_runs = shares >= LEAKED
    overlap = Overlap(
        part=part,
        source=source,
        path=path,
        known=True,
        texts=len(shares),
        exact=int(exact.sum()),
        near=int((near & ~exact).sum()),
        runs=int(by_runs.sum()),
        touched=int((shares > TOUCHED).sum()),
        too_short=int(runs.too_short.sum()),
    )
    return overlap, exact | near | by_runs


def _near(texts: Sequence[str], learnt: Sequence[str]) -> Flags:
    with task("Looking for near-duplicates"):
        return np.array([near is not None for near in near_texts(texts, learnt)], dtype=np.bool_)


def _texts_of(read: TextRead) -> Iterator[str]:
    """The texts of a data directory, or the words in the records of an examples' file."""
    if path_kind(read.path) == "a data directory":
        yield from Dataset.open(read.path).texts("train")
        return
    for _, record in read_records(read.path):
        yield "\n".join(value for value in record.values() if isinstance(value, str))
