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


def take_rows(blocks: Blocks, rows: Integers | slice) -> Blocks:
    """Some rows of the blocks, in this order."""
    return replace(
        blocks,
        ids=blocks.ids[rows],
        word_starts=blocks.word_starts[rows],
        documents=blocks.documents[rows],
        numbers=blocks.numbers[rows],
        spans={kind: marks[rows] for kind, marks in blocks.spans.items()},
    )


def join_examples(examples: Sequence[Corrupted]) -> Corrupted:
    """Examples of the same policy as one batch."""
    if len(examples) == 1:
        return examples[0]

    def together(name: str) -> NDArray[Any] | None:
        arrays = [getattr(example, name) for example in examples]
        return None if arrays[0] is None else np.concatenate(arrays)

    optional = ("edges", "order", "times", "weights", "documents")
    return Corrupted(
        ids=np.concatenate([example.ids for example in examples]),
        hidden=np.concatenate([example.hidden for example in examples]),
        targets=np.concatenate([example.targets for example in examples]),
        units=_join_units(examples),
        answer=_join_answers([example.answer for example in examples if example.answer is not None]),
        **{name: together(name) for name in optional},
    )


def _join_units(examples: Sequence[Corrupted]) -> Ids | None:
    """The unit of each hidden token, numbered on through the examples."""
    units: list[Ids] = []
    before = 0
    for example in examples:
        if example.units is None:
            return None
        units.append(example.units + np.int32(before))
        before += int(example.units[-1]) + 1 if len(example.units) else 0
    return np.concatenate(units)


def _join_answers(answers: Sequence[Answer]) -> Answer | None:
    """Answers as wide as the longest of them; what fills the others up belongs to no document."""
    if not answers:
        return None
    width = max(answer.ids.shape[1] for answer in answers)
    return Answer(
        ids=np.concatenate([_widen(answer.ids, width, answer.pad) for answer in answers]),
        documents=np.concatenate([_widen(answer.documents, width, 0) for answer in answers]),
        sentinels=answers[0].sentinels,
        pad=answers[0].pad,
    )


def _widen(rows: Ids, width: int, value: int) -> Ids:
    wide = np.full((len(rows), width), value, dtype=np.int32)
    wide[:, : rows.shape[1]] = rows
    return wide
