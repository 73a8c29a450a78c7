"""A part of the examples held out, where nobody gave any: every tenth, whole groups only.

In: the group that each example is of, and its labels. Out: which examples are held out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

EVERY = 10  # of so many groups one is held out


def every_tenth(groups: Sequence[Hashable], labels: Sequence[Iterable[str]] | None = None) -> frozenset[int]:
    """The places of the examples of every tenth group; of fewer than ten groups, of one in the middle.

    A group that has all examples of a label stays to learn from.

    >>> sorted(every_tenth([*range(20)])), sorted(every_tenth(["a", "a", "b", "c"]))
    ([5, 15], [2])
    """
    members: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    units = list(members.values())
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
