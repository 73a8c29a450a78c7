"""Which held-out examples a model has seen already: among the labels it learnt from, or in the text it was trained on.

In: held-out texts, the texts learnt from, and the model that was started from. Out: `Overlap` for each of those, and
which examples leaked. Of runs of ours the text is known; of a model from elsewhere it is said that it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unmask.corpus.overlap import SHORTEST, Runs, exact_texts, near_texts
from unmask.errors import BadInput, UnmaskError
from unmask.files import path_kind
from unmask.progress import task
from unmask.records import Flags, Reals
from unmask.results import Overlap
from unmask.runs.lineage import TextRead, texts_read
from unmask.tasks.answer.questions import read_questions
from unmask.tasks.examples import SUFFIXES, read_records, suffix_of
from unmask.tasks.retrieve.collection import read_collection
from unmask.tasks.tag.columns import read_sentences
from unmask.tasks.tune import TunedRun
from unmask.tokens.store.dataset import Dataset
from unmask.words import spelt_words

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

    def with_those_of(self, others: Leaks) -> Leaks:
        """What leaked by either way."""
        return Leaks((*self.overlaps, *others.overlaps), self.leaked | others.leaked)


def some_are_clean(leaked: Flags, *, least: int = 1) -> bool:
    """Whether there is another figure without what leaked: some did, and enough did not."""
    return bool(leaked.any()) and int((~leaked).sum()) >= least


def find_leaks(part: str, texts: Sequence[str], learnt: Sequence[str], start: Path) -> Leaks:
    """Look for held-out texts among those learnt from, and in what the start model has read."""
    return find_leaks_of({part: texts}, learnt, start)[part]


def find_leaks_of(parts: Mapping[str, Sequence[str]], learnt: Sequence[str], start: Path) -> dict[str, Leaks]:
    """The same for several parts, dev and test say; what the model has read is gone through once."""
    every = [text for texts in parts.values() for text in texts]
    found = {part: [_among_learnt(part, texts, learnt)] for part, texts in parts.items()}
    for read in texts_read(start):
        shares = _shares_in(read, every)
        begin = 0
        for part, texts in parts.items():
            found[part].append(_in_read(part, read, texts, None if shares is None else shares[begin:][: len(texts)]))
            begin += len(texts)
    leaks = {}
    for part, overlaps in found.items():
        if len(overlaps) == 1:
            unknown = Overlap(part=part, source="pretraining", path=start, known=False)
            overlaps.append((unknown, np.zeros(len(parts[part]), np.bool_)))
        flags: Flags = np.logical_or.reduce([each for _, each in overlaps])
        leaks[part] = Leaks(tuple(overlap for overlap, _ in overlaps), flags)
    return leaks


def find_chosen_on(test: Sequence[str], dev: Sequence[str]) -> Leaks:
    """Test texts that are among those that chose the moment and what is calibrated."""
    overlap, flags = _among_learnt("test", test, dev)
    return Leaks((replace(overlap, source="dev"),), flags)


def find_fold_leaks(folds: Sequence[tuple[Sequence[str], Sequence[str]]], start: Path) -> list[Leaks]:
    """For each fold, its texts and those learnt from, what leaked; what was read before is gone through once."""
    parts = {f"fold {number}": texts for number, (texts, _) in enumerate(folds, start=1)}
    in_read = find_leaks_of(parts, (), start)
    leaks = []
    for (part, texts), (_, learnt) in zip(parts.items(), folds, strict=True):
        overlap, flags = _among_learnt(part, texts, learnt)
        leaks.append(Leaks((overlap, *in_read[part].overlaps[1:]), flags | in_read[part].leaked))
    return leaks


def leaks_of_folds(folds: Sequence[TunedRun]) -> list[Leaks]:
    """What leaked into the parts that the models of folds are judged by."""
    texts = [(each.learnt.texts_of(each.test), each.learnt.texts_of(each.learnt.train)) for each in folds]
    return find_fold_leaks(texts, folds[0].learnt.start)


def _among_learnt(part: str, texts: Sequence[str], learnt: Sequence[str]) -> tuple[Overlap, Flags]:
    runs = Runs(texts)
    with task(f"Looking for {part} texts among those learnt from", total=len(learnt)) as step:
        for text in learnt:
            runs.look_in(text)
            step(1)
    exact, near, shares = exact_texts(texts, learnt), _near(texts, learnt), runs.shares()
    overlap = Overlap(
        part=part,
        source="train",
        path=None,
        known=True,
        texts=len(texts),
        exact=int(exact.sum()),
        near=int((near & ~exact).sum()),
        **_counts(texts, shares),
    )
    return overlap, exact | near | (shares >= LEAKED)


def _shares_in(read: TextRead, texts: Sequence[str]) -> Reals | None:
    """N: of each text the share of its runs that stand in what was read; none where that is gone."""
    runs = Runs(texts)
    try:
        with task(f"Looking for held-out texts in {read.path}"):
            for text in _texts_of(read):
                runs.look_in(text)
    except (UnmaskError, OSError):
        return None
    return runs.shares()


def _in_read(part: str, read: TextRead, texts: Sequence[str], shares: Reals | None) -> tuple[Overlap, Flags]:
    if shares is None:
        unknown = Overlap(part=part, source=read.name, path=read.path, known=False)
        return unknown, np.zeros(len(texts), np.bool_)
    counts = _counts(texts, shares)
    overlap = Overlap(part=part, source=read.name, path=read.path, known=True, texts=len(texts), **counts)
    return overlap, shares >= LEAKED


def _counts(texts: Sequence[str], shares: Reals) -> dict[str, int]:
    """How many texts are there by their runs, which merely share one, and which are too short to say."""
    short = sum(len(spelt_words(text)) < SHORTEST for text in texts)
    return {"runs": int((shares >= LEAKED).sum()), "touched": int((shares > TOUCHED).sum()), "too_short": short}


def _near(texts: Sequence[str], learnt: Sequence[str]) -> Flags:
    with task("Looking for near-duplicates"):
        return np.array([near is not None for near in near_texts(texts, learnt)], dtype=np.bool_)


def _texts_of(read: TextRead) -> Iterator[str]:
    """The texts of a data directory, or of the examples of any task."""
    path = read.path
    if path_kind(path) == "a data directory":
        yield from Dataset.open(path).texts("train")
    elif path.is_dir():  # to learn retrieval from
        collection, splits = read_collection(path)
        yield from collection.texts
        yield from (text for queries in splits.values() for text in queries.texts)
    elif suffix_of(path) not in SUFFIXES:  # columns of words with their tags
        yield from (" ".join(sentence.words) for sentence in read_sentences(path))
    elif suffix_of(path) == ".json" and (questions := _questions_in(path)):
        yield from questions
    else:
        for _, record in read_records(path):
            yield "\n".join(value if isinstance(value, str) else _joined(value) for value in record.values())


def _questions_in(path: Path) -> list[str]:
    """The questions of a file of SQuAD with their contexts; nothing of another file."""
    try:
        return [f"{each.question}\n{each.context}" for each in read_questions(path).examples]
    except BadInput:
        return []


def _joined(value: object) -> str:
    """The words of a record that has a list of them."""
    is_words = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return " ".join(value) if is_words else ""  # type: ignore[arg-type]
