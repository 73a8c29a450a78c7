"""Labelled examples parted: a tenth of each label held out, where nobody gave any, or folds; whole groups only.

In: labelled examples. Out: those to learn from and those held out, a function of the file and the seed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from unmask.tasks.classify.labelled import LabelledExamples, LabelledText
from unmask.tokens.pack import random_order

EVERY = 10  # of so many one is held out
PURPOSE = 7  # of the order, among all that are drawn from a seed


def hold_out(train: LabelledExamples, seed: int) -> tuple[LabelledExamples, LabelledExamples]:
    """The examples to learn from, and every tenth of each label, held out; groups go one way whole.

    What all examples of a label are in stays to learn from.
    """
    held_out = _units(train, seed)[EVERY // 2 :: EVERY]
    remaining = Counter(label for example in train.examples for label in example.labels)
    kept: set[int] = set()
    for unit in held_out:
        counts = Counter(label for example in unit for label in example.labels)
        if all(remaining[label] > count for label, count in counts.items()):
            remaining -= counts
            kept.update(example.line for example in unit)
    return _parted(train, kept)


def fold(examples: LabelledExamples, count: int, seed: int) -> list[tuple[LabelledExamples, LabelledExamples]]:
    """So many times all examples but a part, and that part: every example is in one part, labels evenly in all."""
    units = _units(examples, seed)
    parts = [{example.line for unit in units[number::count] for example in unit} for number in range(count)]
    return [_parted(examples, part) for part in parts if part]


def _units(examples: LabelledExamples, seed: int) -> list[list[LabelledText]]:
    """Examples, or groups of them, by their labels and at random within those."""
    groups: dict[str, list[LabelledText]] = {}
    for number, example in enumerate(examples.examples):
        groups.setdefault(f"{number}" if example.group is None else f"group {example.group}", []).append(example)
    rank = np.argsort(random_order(len(groups), seed, 0, PURPOSE))
    units = list(groups.values())
    order = sorted(range(len(units)), key=lambda number: (units[number][0].labels, rank[number]))
    return [units[number] for number in order]


def _parted(examples: LabelledExamples, lines: set[int]) -> tuple[LabelledExamples, LabelledExamples]:
    """The examples that are not in these lines, and those that are."""
    rest = tuple(example for example in examples.examples if example.line not in lines)
    part = tuple(example for example in examples.examples if example.line in lines)
    return replace(examples, examples=rest), replace(examples, examples=part)
