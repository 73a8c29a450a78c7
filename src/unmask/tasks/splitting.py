"""Examples parted: every tenth held out, where nobody gave any, or folds; whole groups only.

In: the group that each example is of, and its labels. Out: which examples are held out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from unmask.errors import BadInput
from unmask.tokens.pack import random_order

EVERY = 10  # of so many groups one is held out
FOLDING = 8  # the purpose of an order, among all that are drawn from a seed


def every_tenth(groups: Sequence[Hashable], labels: Sequence[Iterable[str]] | None = None) -> frozenset[int]:
    """The places of the examples of every tenth group; of fewer than ten groups, of one in the middle.

    A group that has all examples of a label stays to learn from.

    >>> sorted(every_tenth([*range(20)])), sorted(every_tenth(["a", "a", "b", "c"]))
    ([5, 15], [2])
    """
    units = _units_of(groups)
    chosen = units[EVERY // 2 :: EVERY] or units[len(units) // 2 : len(units) // 2 + 1][: len(units) - 1]
    labels = [()] * len(groups) if labels is None else [tuple(each) for each in labels]
    remaining = Counter(label for each in labels for label in each)
    held_out: set[int] = set()
    for unit in chosen:
        counts = Counter(label for place in unit for label in labels[place])
        if all(remaining[label] > count for label, count in counts.items()):
            remaining -= counts
            held_out.update(unit)
    return frozenset(held_out)


def fold_places(groups: Sequence[Hashable], count: int, seed: int) -> list[frozenset[int]]:
    """The places of the examples of so many parts, whole groups in each, at random; together they are all.

    >>> sorted(sorted(part) for part in fold_places(["a", "b", "a", "c"], 3, seed=0))
    [[0, 2], [1], [3]]
    """
    units = _units_of(groups)
    if len(units) < count:
        raise BadInput(f"--folds {count}: only {len(units):,} texts or groups; give fewer folds")
    order = random_order(len(units), seed, 0, FOLDING).tolist()
    return [frozenset(place for unit in order[number::count] for place in units[unit]) for number in range(count)]


def parted(examples: Any, places: frozenset[int]) -> tuple[Any, Any]:
    """Examples of any task without those at some places, and those."""
    rest = tuple(each for place, each in enumerate(examples.examples) if place not in places)
    part = tuple(each for place, each in enumerate(examples.examples) if place in places)
    return replace(examples, examples=rest), replace(examples, examples=part)


def _units_of(groups: Sequence[Hashable]) -> list[list[int]]:
    """The places of each group."""
    members: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    return list(members.values())
