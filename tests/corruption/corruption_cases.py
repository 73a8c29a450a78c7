"""Batches of every shape for the laws of corruption, drawn by hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.randomness import Draws
from unmask.records import Blocks, Vocabulary

PAD, UNK, CLS, SEP, MASK = range(5)
SIZE, SENTINELS = 7000, 6000  # enough sentinels for a hidden span at every other token of 8,192
VOCABULARY = Vocabulary(
    size=SIZE,
    mask=MASK,
    pad=PAD,
    start=CLS,
    end=SEP,
    special=(PAD, UNK, CLS, SEP, MASK, *range(SIZE - SENTINELS, SIZE)),
    sentinels=tuple(range(SIZE - 1, SIZE - SENTINELS - 1, -1)),
    counts=np.arange(SIZE, dtype=np.int64)[::-1].copy(),
)

NONE = Draws.of(0, 0, np.arange(0))  # for units that draw nothing

# How likely a token opens a word: each tokenizer's way of cutting text, from letters to unspaced script.
KINDS = {
    "characters": 0.2,
    "wordpiece": 0.7,
    "bytes": 0.35,
    "every token a word": 1.0,
    "one endless word": 0.0,
}


def batch(
    rows: int = 4,
    length: int = 64,
    *,
    seed: int = 0,
    kind: str = "wordpiece",
    documents: int = 1,
    unknown: float = 0.0,
    padding: float = 0.0,
    edges: bool = True,
    first: int = 0,
    epoch: int = 0,
) -> Blocks:
    """Packed rows: each document opens with [CLS] and closes with [SEP] if there are `edges`."""
    rng = np.random.default_rng(seed)
    shape = (rows, length)
    ids = rng.integers(MASK + 1, SIZE - SENTINELS, shape).astype(np.int32)
    starts = rng.random(shape) < KINDS[kind]
    ids[rng.random(shape) < unknown] = UNK
    opens = np.zeros(shape, dtype=np.bool_)
    opens[:, 0] = True
    for row in opens:
        row[rng.integers(0, length, documents - 1)] = True
    inside = np.cumsum(opens, axis=1)
    if edges:
        ids[opens] = CLS
        closes = np.roll(opens, -1, axis=1)
        ids[closes & ~opens] = SEP
    real = np.arange(length) < length - rng.integers(0, int(padding * length) + 1, (rows, 1))
    ids[~real] = PAD
    starts &= real & (ids > SEP)
    spans = np.cumsum(starts & (rng.random(shape) < 0.5), axis=1) * (np.cumsum(starts, axis=1) % 3 > 0)
    return Blocks(
        ids=ids,
        word_starts=starts,
        documents=np.where(real, inside, 0).astype(np.int32),
        numbers=np.arange(first, first + rows, dtype=np.int64),
        epoch=epoch,
        spans={name: spans.astype(np.int32) for name in ("entity", "phrase", "collocation")},
    )


@st.composite
def batches(draw: st.DrawFn, longest: int = 8192) -> Blocks:
    length = draw(st.integers(1, 48) | st.sampled_from([size for size in (128, 511, 8192) if size <= longest]))
    return batch(
        rows=draw(st.integers(1, 5)) if length < 1000 else 1,
        length=length,
        seed=draw(st.integers(0, 2**32)),
        kind=draw(st.sampled_from(sorted(KINDS))),
        documents=draw(st.integers(1, 6)),
        unknown=draw(st.sampled_from([0.0, 0.1, 1.0])),
        padding=draw(st.sampled_from([0.0, 0.5, 1.0])),
        edges=draw(st.booleans()),
        first=draw(st.integers(0, 2**40)),
        epoch=draw(st.integers(0, 3)),
    )


# Below the normal floats a share of the rate can be 0.
rates = st.sampled_from([0.0, 0.05, 0.15, 0.5, 0.999, 1.0]) | st.floats(0, 1, allow_subnormal=False)


def law(**strategies: st.SearchStrategy):
    """A law, over fifty examples, however busy the machine is."""
    return lambda test: settings(max_examples=50, deadline=None)(given(**strategies)(test))
