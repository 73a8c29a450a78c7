"""A part of the labelled examples held out, where nobody gave any: a tenth of each label, whole groups only.

In: labelled examples. Out: those to learn from and those to hold out, a function of the file and the seed.
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
    groups: dict[str, list[LabelledText]] = {}
    for number, example in enumerate(train.examples):
        groups.setdefault(f"{number}" if example.group is None else f"group {example.group}", []).append(example)
    rank = np.argsort(random_order(len(groups), seed, 0, PURPOSE))
    units = list(groups.values())
    order = sorted(range(len(units)), key=lambda number: (units[number][0].labels, rank[number]))
    held_out = [units[number] for number in order[EVERY // 2 :: EVERY]]
    remaining = Counter(label for example in train.examples for label in example.labels)
    kept: set[int] = set()
    for unit in held_out:
        counts = Counter(label for example in unit for label in example.labels)
        if all(remaining[label] > count for label, count in counts.items()):
            remaining -= counts
            kept.update(example.line for example in unit)
    learnt = tuple(example for example in train.examples if example.line not in kept)
    dev = tuple(example for example in train.examples if example.line in kept)
    return replace(train, examples=learnt), replace(train, examples=dev)
