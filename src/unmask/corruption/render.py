"""How the gap looks: the ids as the model sees them, and what it has to say.

In go blocks, units and which of them are hidden, out comes `Corrupted`.
"""

from __future__ import annotations

import numpy as np

from unmask.corruption.randomness import Draws, Stream
from unmask.corruption.units import Units
from unmask.errors import BadInput
from unmask.records import Blocks, Corrupted, Flags, Ids, Integers, Vocabulary


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
    positions = units.positions[units.spread(hidden)]
    sizes, rows = units.sizes[hidden], units.rows[hidden]
    fate = np.repeat(draws.uniform(Stream.FATE, rows, units.numbers[hidden]), sizes)
    ids = blocks.ids.ravel().copy()
    targets = ids[positions]

    ids[positions[fate < mask]] = vocabulary.mask
    swap = np.flatnonzero((fate >= mask) & (fate < mask + random))
    row, column = np.divmod(positions[swap], blocks.ids.shape[1])
    draw = draws.uniform(Stream.REPLACEMENT, row, column)
    ids[positions[swap]] = REPLACEMENTS[replacement](targets[swap], draw, vocabulary)

    flags = np.zeros(len(ids), dtype=np.bool_)
    flags[positions] = True
    return Corrupted(
        ids=ids.reshape(blocks.ids.shape),
        hidden=flags.reshape(blocks.ids.shape),
        targets=targets,
        units=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
    )


def _uniformly(tokens: Ids, draw: np.ndarray, vocabulary: Vocabulary) -> Ids:
    """Any ordinary token but the one that was there, each as likely."""
    others = len(vocabulary.ordinary) - 1
    if others < 1:
        return np.full_like(tokens, vocabulary.mask)
    which = (draw * others).astype(np.int64)
    which += which >= np.searchsorted(vocabulary.ordinary, tokens)  # step over the original
    return vocabulary.ordinary[which]


def _by_frequency(tokens: Ids, draw: np.ndarray, vocabulary: Vocabulary) -> Ids:
    """Any ordinary token but the one that was there, as often as the corpus has it."""
    if vocabulary.counts is None:
        raise BadInput("replacement 'frequency' needs token counts of a corpus: without one, use 'uniform'")
    ends: Integers = np.cumsum(vocabulary.counts[vocabulary.ordinary])
    place = np.searchsorted(vocabulary.ordinary, tokens)
    own = vocabulary.counts[tokens]
    others = ends[-1:] - own
    which = (draw * others).astype(np.int64)
    which += np.where(which >= ends[place] - own, own, 0)  # step over the original
    drawn = vocabulary.ordinary[np.minimum(np.searchsorted(ends, which, side="right"), len(ends) - 1)]
    return np.where(others > 0, drawn, _uniformly(tokens, draw, vocabulary))


REPLACEMENTS = {"uniform": _uniformly, "frequency": _by_frequency}
