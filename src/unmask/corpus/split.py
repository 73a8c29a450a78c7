"""Which documents are held out for validation, told from their digests alone.

A text is on the same side in every corpus that contains it, whatever else is added: its digest, read as a
fraction, is below the asked one or it is not. Only a corpus so small that one side would be empty departs
from that: the document nearest to the border then crosses it. Documents added later can send it back.
"""

from __future__ import annotations

import numpy as np

from unmask.corpus.dedup import Digests
from unmask.records import Flags, Reals


def held_out(digests: Digests, fraction: float) -> Flags:
    """N flags: true for validation; of two documents or more at least one is on each side.

    >>> held_out(np.array([[2**63, 0], [2**62, 0], [2**61, 0]], dtype=np.uint64), 0.01).tolist()
    [False, False, True]
    """
    place = _places(digests)
    valid = place < fraction
    if len(place) > 1:
        if not valid.any():
            valid[place.argmin()] = True
        elif valid.all():
            valid[place.argmax()] = False
    return valid


def by_digest(digests: Digests, fraction: float) -> Flags:
    """N flags: true for validation, by the digest alone; for documents that are added to others.

    >>> by_digest(np.array([[2**63, 0], [2**62, 0], [2**61, 0]], dtype=np.uint64), 0.2).tolist()
    [False, False, True]
    """
    flags: Flags = _places(digests) < fraction
    return flags


def _places(digests: Digests) -> Reals:
    """N: digests as fractions."""
    places: Reals = digests[:, 0].astype(np.float64) / 2.0**64
    return places
