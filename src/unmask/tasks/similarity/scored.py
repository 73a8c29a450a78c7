"""Scored pairs: a file of pairs of texts with a number that says how alike they are.

In: JSONL, CSV or TSV, plain or packed (.gz). Out: `ScoredPairs`. Which fields hold the texts and the score is found by
their names and said; `--text-field`, `--pair-field` and `--label-field` decide otherwise. Scores may have any range.

    {"sentence1": "A man sleeps.", "sentence2": "Someone is asleep.", "score": 4.6}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from unmask.errors import BadInput, did_you_mean
from unmask.files import sha256_of
from unmask.records import Reals
from unmask.tasks.classify.labelled import PAIRS
from unmask.tasks.examples import (
    IDS,
    Record,
    and_empty,
    check_id,
    first_named,
    present_value,
    quoted_names,
    read_records,
    text_in,
)
from unmask.tokens.pack import random_order

SIDES = (*PAIRS, ("sentence_a", "sentence_b"), ("sent1", "sent2"), ("s1", "s2"), ("first", "second"))
SCORES = (
    *("score", "similarity", "similarity_score", "relatedness_score", "relatedness", "rating", "gold", "label"),
    *("value", "target"),
)
FEWEST = 10  # pairs, below which nothing is learnt from them
EVERY = 10  # of so many one is held out
PURPOSE = 7  # of the order, among all that are drawn from a seed


class PairFields(NamedTuple):
    """Which fields hold what."""

    text: str
    pair: str
    label: str  # the score
    group: str | None = None


class ScoredPair(NamedTuple):
    """One pair, and where it stands."""

    line: int
    text: str
    pair: str
    score: float
    group: str | None = None  # pairs of one group stay together


@dataclass(frozen=True)
class ScoredPairs:
    """The pairs of a file."""

    path: Path
    fields: PairFields
    examples: tuple[ScoredPair, ...]
    empty: int = 0  # lines without text, which were left out

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def scores(self) -> Reals:
        """N: their scores."""
        return np.array([example.score for example in self.examples])

    @property
    def texts(self) -> list[str]:
        """2 N: the first text of each pair, then the second of each."""
        return [example.text for example in self.examples] + [example.pair for example in self.examples]

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return sha256_of(self.path)


def read_scored(path: Path, fields: PairFields | None = None, **asked: str | None) -> ScoredPairs:
    """Read a file; its fields are those of another file, or `text`, `pair`, `label` and `group` as asked for."""
    rows = read_records(path, "a scored pair of texts a line")
    first = next(rows, None)
    if first is None:
        raise BadInput(f"{path}: has no pairs")
    names = infer_pair_fields(path, first[1], **asked) if fields is None else fields
    if fields is not None and fields.group not in first[1]:  # groups are for holding out, which is done already
        names = names._replace(group=None)
    pairs: list[ScoredPair] = []
    seen: dict[str, int] = {}
    empty = 0
    id_field = next((name for name in IDS if name in first[1] and name not in names), None)
    for line, record in (first, *rows):
        check_id(path, line, record, id_field, seen)
        text, pair = (text_in(path, line, record, name) for name in (names.text, names.pair))
        if not text.strip() or not pair.strip():
            empty += 1
            continue
        group = None if names.group is None else str(present_value(path, line, record, names.group))
        pairs.append(ScoredPair(line, text, pair, score_in(path, line, record, names.label), group))
    return ScoredPairs(path, names, tuple(pairs), empty)


def score_in(path: Path, line: int, record: Record, name: str) -> float:
    """The score of a record, a finite number."""
    value = present_value(path, line, record, name)
    try:
        score = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else float("nan")
    except ValueError:
        score = float("nan")
    if not isfinite(score):
        raise BadInput(
            f"{path}:{line}: the field {name!r} is {str(value)[:40]!r}, which is no number; similarity is learnt from "
            "scores (`unmask tune classify` learns names)"
        )
    return score


def infer_pair_fields(
    path: Path,
    record: Record,
    *,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
    group: str | None = None,
) -> PairFields:
    """Which fields hold what: as asked for, else by their names.

    >>> infer_pair_fields(Path("x"), {"genre": "", "sentence1": "", "sentence2": "", "Score": ""})
    PairFields(text='sentence1', pair='sentence2', label='Score', group=None)
    """
    spelt = {name.lower().strip(): name for name in record}
    if text is None and pair is None:
        both = next((both for both in SIDES if all(name in spelt for name in both)), None)
        if both is not None:
            text, pair = (spelt[name] for name in both)
    label = label or first_named(SCORES, spelt, without=(text, pair, group))
    for name, flag in ((text, "--text-field"), (pair, "--pair-field"), (label, "--label-field")):
        if name is None:
            meaning = "the score" if flag == "--label-field" else "the two texts"
            raise BadInput(f"{path}: which field has {meaning}? {flag} names it, one of {quoted_names(record)}")
    for name in (text, pair, label, group):
        if name is not None and name not in record:
            near = did_you_mean(name, record)
            raise BadInput(f"{path}: has no field {name!r}; {near or 'it has ' + ', '.join(map(repr, record))}")
    return PairFields(cast(str, text), cast(str, pair), cast(str, label), group)


def check_scores(pairs: ScoredPairs, fewest: int = FEWEST) -> None:
    """Refuse what no correlation can be learnt from or measured on: a handful of pairs, or one score for all."""
    count = f"{len(pairs):,} pair{'' if len(pairs) == 1 else 's'}"
    if len(pairs) < fewest:
        raise BadInput(f"{pairs.path}: {count}{and_empty(pairs.empty)}, too few; give at least {fewest}")
    if len(set(pairs.scores.tolist())) < 2:
        raise BadInput(
            f"{pairs.path}: all pairs have the score {pairs.examples[0].score:g}, so none is more alike than another"
        )


def hold_out_pairs(train: ScoredPairs, seed: int) -> tuple[ScoredPairs, ScoredPairs]:
    """The pairs to learn from, and every tenth, held out; groups go one way whole."""
    groups: dict[str, list[ScoredPair]] = {}
    for number, example in enumerate(train.examples):
        groups.setdefault(f"{number}" if example.group is None else f"group {example.group}", []).append(example)
    units = list(groups.values())
    chosen = random_order(len(units), seed, 0, PURPOSE)[EVERY // 2 :: EVERY].tolist()
    held_out = {example.line for number in chosen for example in units[number]}

    def part(of: bool) -> tuple[ScoredPair, ...]:
        return tuple(example for example in train.examples if (example.line in held_out) == of)

    return replace(train, examples=part(False)), replace(train, examples=part(True))
