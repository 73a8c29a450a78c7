"""Which documents are seen for the first time, told from their digests alone: 16 bytes a document."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unmask.records import Integers

Digests = NDArray[np.uint64]  # N 2, the 128 bits of each document's BLAKE2b, big-endian halves


def digest_texts(text: pa.Array) -> pa.Array:
    """The 128-bit BLAKE2b of each text's UTF-8."""
    texts = text.cast(pa.large_binary()).to_pylist()
    return pa.array([hashlib.blake2b(data, digest_size=16).digest() for data in texts], type=pa.binary(16))


def first_of_each(digests: Digests) -> Integers:
    """N numbers: for each document that of the first, in input order, with the same text; its own where it is that.

    >>> first_of_each(np.array([[1, 1], [2, 2], [1, 1], [1, 2]], dtype=np.uint64)).tolist()
    [0, 1, 0, 3]
    """
    firsts = np.empty(len(digests), dtype=np.int64)
    # A sixteenth at a time, so that sorting takes little memory beside the digests themselves.
    for bucket in range(16):
        (rows,) = np.nonzero(digests[:, 0] >> np.uint64(60) == bucket)
        order = np.lexsort((rows, digests[rows, 1], digests[rows, 0]))
        ordered = digests[rows[order]]
        begins = np.ones(len(rows), dtype=np.bool_)
        begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        firsts[rows[order]] = rows[order][np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))]
    return firsts
