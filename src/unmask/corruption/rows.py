"""Rows of a batch, taken out and put together again: what a row becomes does not depend on its neighbours.

In go blocks or examples, out come blocks or examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.records import Answer, Blocks, Corrupted, Ids, Integers


def take(blocks: Blocks, rows: Integers | slice) -> Blocks:
    """Some rows of the blocks, in this order."""
    return replace(
        blocks,
        ids=blocks.ids[rows],
        word_starts=blocks.word_starts[rows],
        documents=blocks.documents[rows],
        numbers=blocks.numbers[rows],
        spans={kind: marks[rows] for kind, marks in blocks.spans.items()},
    )


def joined(parts: Sequence[Corrupted]) -> Corrupted:
    """Examples of the same policy as one batch."""
    if len(parts) == 1:
        return parts[0]

    def together(name: str) -> NDArray[Any] | None:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)

    same = ("edges", "order", "times", "weights", "documents")
    return Corrupted(
        ids=np.concatenate([part.ids for part in parts]),
        hidden=np.concatenate([part.hidden for part in parts]),
        targets=np.concatenate([part.targets for part in parts]),
        units=_units(parts),
        answer=_answers([part.answer for part in parts if part.answer is not None]),
        **{name: together(name) for name in same},
    )


def _units(parts: Sequence[Corrupted]) -> Ids | None:
    """The unit of each hidden token, numbered on through the parts."""
    numbered: list[Ids] = []
    before = 0
    for part in parts:
        if part.units is None:
            return None
        numbered.append(part.units + np.int32(before))
        before += int(part.units[-1]) + 1 if len(part.units) else 0
    return np.concatenate(numbered)


def _answers(answers: Sequence[Answer]) -> Answer | None:
    """Answers as wide as the longest of them; what fills the others up belongs to no document."""
    if not answers:
        return None
    width = max(answer.ids.shape[1] for answer in answers)
    return Answer(
        ids=np.concatenate([_widened(answer.ids, width, answer.pad) for answer in answers]),
        documents=np.concatenate([_widened(answer.documents, width, 0) for answer in answers]),
        sentinels=answers[0].sentinels,
        pad=answers[0].pad,
    )


def _widened(rows: Ids, width: int, value: int) -> Ids:
    wide = np.full((len(rows), width), value, dtype=np.int32)
    wide[:, : rows.shape[1]] = rows
    return wide
