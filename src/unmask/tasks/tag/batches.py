"""The batches of tagged texts, by the numbers of their examples: what processes that prepare ahead compute.

In: texts as rows of ids with their words, and the tags of these. Out: the batch of any texts. Neither torch nor a
tokenizer is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmask.records import Integers
from unmask.task_batches import TaggedBatch
from unmask.tasks.order import ExampleOrder
from unmask.tasks.tag.words import WordRows


@dataclass(frozen=True, eq=False, kw_only=True)
class TaggedBatches:
    """The tagged texts of every epoch."""

    words: WordRows
    targets: Integers  # U
    order: ExampleOrder

    def batch(self, stretch: tuple[int, int]) -> TaggedBatch:
        """The examples from one number of the whole run to another."""
        return tagged_batch(self.words, self.targets, self.order.examples(*stretch))


def tagged_batch(words: WordRows, targets: Integers, numbers: Integers) -> TaggedBatch:
    """Some texts with their words, one text after the other."""
    rows, owners = words.rows.rows_of(numbers)
    ids, real, types = words.rows.padded(rows)
    first_rows = np.searchsorted(owners, np.arange(len(numbers)))
    chosen = [np.arange(*words.bounds[number : number + 2]) for number in numbers.tolist()]
    text = np.repeat(np.arange(len(numbers)), [len(each) for each in chosen])
    found = np.concatenate([*chosen, np.zeros(0, np.int64)])
    offsets = first_rows - np.searchsorted(words.rows.owners, numbers)
    return TaggedBatch(
        ids=ids,
        real=real,
        types=types,
        owners=owners,
        rows=words.places[found] + offsets[text],
        columns=words.columns[found],
        targets=targets[found],
    )
