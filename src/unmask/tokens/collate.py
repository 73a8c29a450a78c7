"""Examples to batches.

In: blocks and what corruption made of them. Out: a `Batch`: what to predict where, and who may see whom.
"""

from __future__ import annotations

import numpy as np

from unmask.records import Batch, Blocks, Corrupted, Ids, Integers


def collate(blocks: Blocks, corrupted: Corrupted) -> Batch:
    """What an objective takes of corrupted blocks."""
    is_shortened = corrupted.documents is not None  # rows without what is hidden: a decoder says that
    documents = blocks.documents if corrupted.documents is None else corrupted.documents
    none = np.empty(0, dtype=np.int64)
    return Batch(
        ids=corrupted.ids.astype(np.int64),
        positions=positions_in_document(documents),
        documents=documents.astype(np.int64),
        predicted=none if is_shortened else np.flatnonzero(corrupted.hidden),
        targets=none if is_shortened else corrupted.targets.astype(np.int64),
        numbers=blocks.numbers,
        edges=None if corrupted.edges is None else corrupted.edges.astype(np.int64),
        order=None if corrupted.order is None else corrupted.order.astype(np.int64),
        weights=corrupted.weights,
        answer=corrupted.answer,
    )


def positions_in_document(documents: Ids) -> Integers:
    """Positions that start again with each document of a row.

    >>> positions_in_document(np.array([[1, 1, 1, 2, 2, 0]], dtype=np.int32))
    array([[0, 1, 2, 0, 1, 0]])
    """
    place = np.broadcast_to(np.arange(documents.shape[1]), documents.shape)
    first = np.diff(documents, axis=1, prepend=-1) != 0
    return place - np.maximum.accumulate(np.where(first, place, 0), axis=1)
