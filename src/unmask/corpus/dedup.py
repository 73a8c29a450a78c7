"""Which documents are seen for the first time, told from their digests alone: 16 bytes a document.

Near-duplicates will be one more function from what is known of the documents to flags of those that stay.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unmask.records import Flags

Digests = NDArray[np.uint64]  # N 2, the 128 bits of each document's BLAKE2b, big-endian halves


def digest_texts(text: pa.Array) -> pa.Array:
    """The 128-bit BLAKE2b of each text's UTF-8."""
    texts = text.cast(pa.large_binary()).to_pylist()
    return pa.array([hashlib.blake2b(data, digest_size=16).digest() for data in texts], type=pa.binary(16))


def first_occurrences(digests: Digests) -> Flags:
    """N flags: true for the first document, in input order, of each text.

    >>> first_occurrences(np.array([[1, 1], [2, 2], [1, 1], [1, 2]], dtype=np.uint64)).tolist()
    [True, True, False, True]
    """
    stays = np.zeros(len(digests), dtype=np.bool_)
    # A sixteenth at a time, so that sorting takes little memory beside the digests themselves.
    for bucket in range(16):
        (rows,) = np.nonzero(digests[:, 0] >> np.uint64(60) == bucket)
        _, first = np.unique(digests[rows], axis=0, return_index=True)
        stays[rows[first]] = True
    return stays
