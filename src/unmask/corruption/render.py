"""How the gap looks: the ids as the model sees them, and what it has to say.

In go blocks, units and which of them are hidden, out comes `Corrupted`.
"""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np

from unmask.corruption.properties import declares
from unmask.corruption.units import Units
from unmask.errors import BadInput
from unmask.randomness import Draws, Purpose
from unmask.records import Blocks, Corrupted, Flags, Ids, Integers, Reals, Vocabulary


@declares(mixable=True)
def replace(
    blocks: Blocks,
    units: Units,
    hidden: Flags,
    vocabulary: Vocabulary,
    draws: Draws,
    *,
    mask: float = 0.8,
    random: float = 0.1,
    replacement: str = "uniform",
) -> Corrupted:
    """Show `[MASK]`, a random other token or the token itself; the tokens of a unit share their fate.

    BERT's 80/10/10 (Devlin et al. 2019, §3.1), one draw for each unit as in SpanBERT (Joshi et al. 2020).
    """
    indices = np.flatnonzero(hidden)
    positions, sizes = units.members(indices)
    rows = units.rows[indices]
    fate = np.repeat(draws.uniform(Purpose.FATE, rows, indices - units.first[rows]), sizes)
    ids = blocks.ids.ravel().copy()
    targets = ids[positions]

    ids[positions[fate < mask]] = vocabulary.mask
    swap = np.flatnonzero((fate >= mask) & (fate < mask + random))
    row, column = np.divmod(positions[swap], blocks.ids.shape[1])
    draw = draws.uniform(Purpose.REPLACEMENT, row, column)
    ids[positions[swap]] = REPLACEMENTS[replacement](targets[swap], draw, vocabulary)

    flags = np.zeros(len(ids), dtype=np.bool_)
    flags[positions] = True
    return Corrupted(
        ids=ids.reshape(blocks.ids.shape),
        hidden=flags.reshape(blocks.ids.shape),
        targets=targets,
        units=np.repeat(np.arange(len(indices), dtype=np.int32), sizes),
    )


@declares(mixable=True, edges=True)
def bounded(
    blocks: Blocks,
    units: Units,
    hidden: Flags,
    vocabulary: Vocabulary,
    draws: Draws,
    *,
    mask: float = 0.8,
    random: float = 0.1,
    replacement: str = "uniform",
) -> Corrupted:
    """As `replace`, with the edges of each hidden run: what SpanBERT's boundary objective predicts from."""
    corrupted = replace(blocks, units, hidden, vocabulary, draws, mask=mask, random=random, replacement=replacement)
    return changed(corrupted, edges=run_edges(blocks, corrupted.hidden))


def run_edges(blocks: Blocks, hidden: Flags) -> Ids:
    """P 2: the columns just before and just after the hidden run that each hidden position stands in.

    column   0    1    2    3    4
    tokens  the   #    #   sat   #           edges of 1 and 2 are (0, 3), of 4 (3, 5)
    """
    positions = np.flatnonzero(hidden)
    starts = run_starts(blocks, positions)
    ends = np.append(starts, len(positions))[1:] - 1
    column = positions % hidden.shape[1]
    around = np.stack((column[starts] - 1, column[ends] + 1), axis=1) if len(positions) else np.empty((0, 2))
    return np.repeat(around.astype(np.int32), ends - starts + 1, axis=0)


def run_starts(blocks: Blocks, positions: Integers) -> Integers:
    """Where in these flat positions a run of neighbours in one document begins."""
    document = blocks.documents.ravel()[positions]
    row = positions // blocks.ids.shape[1]
    opens = (
        (np.diff(positions, prepend=-2) != 1) | (np.diff(document, prepend=0) != 0) | (np.diff(row, prepend=-1) != 0)
    )
    return np.flatnonzero(opens)


@declares(weighted=True)
def masked(blocks: Blocks, units: Units, hidden: Flags, vocabulary: Vocabulary, draws: Draws) -> Corrupted:
    """Show `[MASK]` for each, with the time of the row and the weight 1 / time (MDLM, Sahoo et al. 2024).

    The time is the share that is hidden, so that the weight of the bound is exact also for short rows.
    """
    corrupted = replace(blocks, units, hidden, vocabulary, draws, mask=1.0, random=0.0)
    times = corrupted.hidden.sum(axis=1) / np.maximum(units.tokens, 1)
    return changed(corrupted, times=times, weights=np.divide(1, times, out=np.zeros_like(times), where=times > 0))


@declares(in_place=False, ordered=True)
def ordered(blocks: Blocks, units: Units, hidden: Flags, vocabulary: Vocabulary, draws: Draws) -> Corrupted:
    """Show every token, and say in which order the hidden ones are predicted (XLNet, Yang et al. 2019, §2.3).

    One number for each position stands for both streams' masks: a query sees the tokens whose order is 0 or
    lower than its own, content sees itself too. The B × L × L masks need never exist on the host.
    """
    corrupted = replace(blocks, units, hidden, vocabulary, draws, mask=0.0, random=0.0)
    return changed(corrupted, order=random_order(corrupted.hidden, draws))


@declares(ordered=True)
def replaced_in_order(
    blocks: Blocks,
    units: Units,
    hidden: Flags,
    vocabulary: Vocabulary,
    draws: Draws,
    *,
    mask: float = 0.8,
    random: float = 0.1,
    replacement: str = "uniform",
) -> Corrupted:
    """As `replace`, with the order in which the hidden tokens are predicted (MPNet, Song et al. 2020, §2.3).

    What is shown of a hidden token keeps its place; the token itself is there for those that come after it.
    """
    corrupted = replace(blocks, units, hidden, vocabulary, draws, mask=mask, random=random, replacement=replacement)
    return changed(corrupted, order=random_order(corrupted.hidden, draws))


def random_order(hidden: Flags, draws: Draws) -> Ids:
    """B L: when each hidden position of a row is predicted, from 1, in any order as likely; 0 for what is not."""
    counts = hidden.sum(axis=1)
    shuffle, real = draws.shuffle(Purpose.RANK, counts)
    rank = np.empty(counts.sum(), dtype=np.int32)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    rank[shuffle[real].astype(np.int64) + first] = np.nonzero(real)[1] + 1
    order = np.zeros(hidden.shape, dtype=np.int32)
    order[hidden] = rank
    return order


def _uniformly(tokens: Ids, draw: Reals, vocabulary: Vocabulary) -> Ids:
    """Any ordinary token but the one that was there, each as likely."""
    count = len(vocabulary.ordinary) - 1
    if count < 1:
        return np.full_like(tokens, vocabulary.mask)
    index = (draw * count).astype(np.int64)
    index += index >= np.searchsorted(vocabulary.ordinary, tokens)  # step over the original
    return vocabulary.ordinary[index]


def _by_frequency(tokens: Ids, draw: Reals, vocabulary: Vocabulary) -> Ids:
    """Any ordinary token but the one that was there, as often as the corpus has it."""
    if vocabulary.counts is None:
        raise BadInput("replacement 'frequency' needs token counts of a corpus: without one, use 'uniform'")
    ends: Integers = np.cumsum(vocabulary.counts[vocabulary.ordinary])
    place = np.searchsorted(vocabulary.ordinary, tokens)
    originals = vocabulary.counts[tokens]
    total = ends[-1:] - originals
    rank = (draw * total).astype(np.int64)
    rank += np.where(rank >= ends[place] - originals, originals, 0)  # step over the original
    replacements = vocabulary.ordinary[np.minimum(np.searchsorted(ends, rank, side="right"), len(ends) - 1)]
    return np.where(total > 0, replacements, _uniformly(tokens, draw, vocabulary))


REPLACEMENTS = {"uniform": _uniformly, "frequency": _by_frequency}
