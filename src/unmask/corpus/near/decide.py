"""Near-duplicates over a whole corpus: who is kept, who is left out for whom, and how many were caught.

In: parts that are read, with the keys of their documents. Out: of each document its twin. Keys are looked at one band
at a time, 8 bytes a document; shingles are made again for those only that share a key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.corpus.dedup import Digests
from unmask.corpus.near.candidates import CandidateShingles, staged_texts, want_shingles
from unmask.corpus.near.families import find_families, sharing
from unmask.corpus.near.probes import ABOVE, PROBES, Recall, probe_of
from unmask.corpus.near.shingles import shingles_of
from unmask.corpus.near.signatures import BANDS, Keys, band_keys
from unmask.corpus.read_part import BAND_KEYS, SIZES
from unmask.corpus.staged import StagedPart
from unmask.records import Flags, Integers, Reals

LONGEST = 5_000  # characters of a document that a probe is made from


@dataclass(frozen=True)
class NearDuplicates:
    """What is decided of the documents of a corpus."""

    twins: Integers  # N, of each the number of the one that is kept for it; its own where that is itself
    similarity: Reals  # N, with it
    recall: Recall | None  # none where no document is long enough to try


def find_near_duplicates(
    parts: Sequence[StagedPart],
    digests: Digests,
    firsts: Flags,
    threshold: float,
    make_shingles: Callable[[Sequence[StagedPart]], object],
    earlier: int = 0,
) -> NearDuplicates:
    """Go through the documents that are no exact duplicates; `make_shingles` has `write_shingles` run over parts.

    So many of the first documents are kept in any case.
    """
    sizes = np.concatenate([_sizes(part) for part in parts])  # N 2
    (rows,) = np.nonzero(firsts & (sizes[:, 1] > 0))
    level = min(0.99, round(threshold + ABOVE, 3))
    originals, probes = _probes(parts, digests, sizes, rows, level)
    probe_keys = band_keys(shingles_of(probes))

    def keys_of_band(band: int) -> Keys:
        return np.concatenate([*(_keys(part)[:, band] for part in parts)])[rows]

    shared = sharing(lambda band: np.concatenate((keys_of_band(band), probe_keys[:, band])), len(rows) + len(probes))
    candidates = rows[shared[: len(rows)]]
    with_candidates = [(part, within) for part, within in _by_part(parts, candidates) if len(within)]
    for part, within in with_candidates:
        want_shingles(part.folder, within)
    make_shingles([part for part, _ in with_candidates])
    shingle_sets = CandidateShingles([(part.folder, len(within)) for part, within in with_candidates], probes)
    keys = np.concatenate(
        [np.empty((0, BANDS), np.uint64), *(_keys(part)[within] for part, within in with_candidates), probe_keys]
    )
    # Probes come last: nothing is left out for them.
    characters = np.concatenate((sizes[candidates, 0], np.full(len(probes), -1)))
    families = find_families(keys, characters, shingle_sets, threshold, int(np.searchsorted(candidates, earlier)))
    twins, similarity = np.arange(len(digests)), np.ones(len(digests))
    count = len(candidates)
    twins[candidates] = candidates[families.twins[:count]]
    similarity[candidates] = families.similarity[:count]
    tried = twins[originals] == originals
    caught = families.twins[count:] != np.arange(count, count + len(probes))
    recall = Recall(level=level, probes=int(tried.sum()), caught=int(caught[tried].sum())) if tried.any() else None
    return NearDuplicates(twins, similarity, recall)


def _sizes(part: StagedPart) -> Integers:
    return np.frombuffer((part.folder / SIZES).read_bytes(), np.int32).reshape(-1, 2).astype(np.int64)


def _keys(part: StagedPart) -> Keys:
    if not part.summary.kept:
        return np.empty((0, BANDS), np.uint64)
    return np.memmap(part.folder / BAND_KEYS, np.uint64, "r", shape=(part.summary.kept, BANDS))


def _by_part(parts: Sequence[StagedPart], rows: Integers) -> Iterator[tuple[StagedPart, Integers]]:
    for part in parts:
        begin, end = np.searchsorted(rows, (part.rows.start, part.rows.stop))
        yield part, rows[begin:end] - part.begin


def _probes(
    parts: Sequence[StagedPart], digests: Digests, sizes: Integers, rows: Integers, level: float
) -> tuple[Integers, list[str]]:
    """Some documents, the same each time, and of each a text that is as similar to it as a level."""
    long_enough = rows[(sizes[rows, 0] <= LONGEST) & (sizes[rows, 1] > 50)]
    chosen = np.sort(long_enough[np.argsort(digests[long_enough, 1], kind="stable")[:PROBES]])
    texts = [
        text for part, within in _by_part(parts, chosen) for some in staged_texts(part.folder, within) for text in some
    ]
    pairs = [
        (row, probe) for row, text in zip(chosen.tolist(), texts, strict=True) if (probe := probe_of(text, level, row))
    ]
    return np.array([row for row, _ in pairs], dtype=np.int64), [probe for _, probe in pairs]
