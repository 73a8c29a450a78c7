"""Whether an exported model says what the model says, on real texts: figures, and the gates that they have to pass.

In: the model, what was exported of it, texts. Out: for vectors the cosine of each pair; for fills, with 15 % of the
tokens of each text hidden, how often both think the same token likeliest, and how often each is right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.errors import Refused
from unmask.inference.export.graph import FillGraph, VectorGraph
from unmask.inference.export.session import OnnxSession, padded
from unmask.records import Ids, Integers, Vocabulary

COSINE, SAME = 0.9999, 0.995  # an exact graph has to have: every vector, and this share of the best fills
INT8_COSINE, INT8_POINTS = 0.97, 0.01  # one in 8 bits: the mean of vectors, and the accuracy it may lose
RATE = 0.15  # of the tokens of a text that are hidden
ROWS = 16  # asked at once
ROUNDS = 5  # of timing, both sides taking turns


@dataclass(frozen=True)
class Parity:
    """How an export compares with its model."""

    texts: int
    hidden: int | None  # tokens of them, of which the fills are compared
    cosine: float | None  # the least of an exact graph, the mean of one in 8 bits
    same_fills: float | None  # the share of best fills that are the same
    accuracy: tuple[float, float] | None  # of the model and of its export, on the hidden tokens
    speed: float  # how many times as fast as torch, by the median of rounds in turns


def compare_vectors(graph: VectorGraph, file: Path, rows: Sequence[Ids], pad: int, *, int8: bool) -> Parity:
    """Vectors by torch and by onnxruntime; refused where they differ by more than the gate lets through."""
    session = OnnxSession(file, pad)
    batches = [rows[begin : begin + ROWS] for begin in range(0, len(rows), ROWS)]

    def by_torch(batch: Sequence[Ids]) -> NDArray[np.float32]:
        ids, real = map(torch.from_numpy, padded(batch, pad))
        with torch.inference_mode():
            return np.asarray(graph(input_ids=ids, attention_mask=real).numpy())

    cosines = np.concatenate([(by_torch(batch) * session.vectors(batch)).sum(1) for batch in batches])
    cosine = float(cosines.mean() if int8 else cosines.min())
    gate = INT8_COSINE if int8 else COSINE
    if not cosine >= gate:
        which = "mean" if int8 else "least"
        raise Refused(
            f"not exported: the {which} cosine of {len(rows)} texts with the model's own is {cosine:.5f}, "
            f"and the gate is {gate}"
        )
    speed = _times_as_fast(lambda: by_torch(batches[0]), lambda: session.vectors(batches[0]))
    return Parity(len(rows), None, cosine, None, None, speed)


def compare_fills(graph: FillGraph, file: Path, rows: Sequence[Ids], words: Vocabulary, *, int8: bool) -> Parity:
    """Best fills by torch and by onnxruntime, of some tokens of each text; refused where the gate is not passed."""
    session = OnnxSession(file, words.pad)
    places = [hidden_places(number, len(row)) for number, row in enumerate(rows)]
    batches = [_hidden_batch(rows, places, begin, words) for begin in range(0, len(rows), ROWS)]
    ours, theirs = [], []

    def by_torch(batch: Sequence[Ids], asked: Integers) -> NDArray[np.float32]:
        ids, real = map(torch.from_numpy, padded(batch, words.pad))
        with torch.inference_mode():
            return np.asarray(graph(input_ids=ids, attention_mask=real, positions=torch.from_numpy(asked)).numpy())

    for batch, asked, real in batches:
        ours.append(by_torch(batch, asked).argmax(-1)[real])
        theirs.append(session.logits(batch, asked).argmax(-1)[real])
    best, exported = np.concatenate(ours), np.concatenate(theirs)
    truth = np.concatenate([row[each] for row, each in zip(rows, places, strict=True)])
    same = float((best == exported).mean())
    right, still_right = int((best == truth).sum()), int((exported == truth).sum())
    accuracy = right / len(truth), still_right / len(truth)
    if int8 and right - still_right > INT8_POINTS * len(truth):
        raise Refused(
            f"not exported: of {len(truth):,} hidden tokens the model restores {accuracy[0]:.1%} and its 8-bit "
            f"graph {accuracy[1]:.1%}, more than {INT8_POINTS:.0%} less; --to onnx is exact"
        )
    if not int8 and same < SAME:
        raise Refused(
            f"not exported: only {same:.1%} of the best fills of {len(truth):,} tokens are the model's own, "
            f"and the gate is {SAME:.1%}"
        )
    first, asked, _ = batches[0]
    speed = _times_as_fast(lambda: by_torch(first, asked), lambda: session.logits(first, asked))
    return Parity(len(rows), len(truth), None, same, accuracy, speed)


def hidden_places(number: int, length: int) -> Integers:
    """Which tokens of a row are hidden, neither its first nor its last; the same for the same row.

    >>> hidden_places(0, 5), len(hidden_places(1, 102))
    (array([3]), 15)
    """
    count = max(1, round(RATE * (length - 2)))
    drawn = np.random.default_rng(number).choice(np.arange(1, length - 1), count, replace=False)
    places: Integers = np.sort(drawn)
    return places


def _hidden_batch(
    rows: Sequence[Ids], places: Sequence[Integers], begin: int, words: Vocabulary
) -> tuple[list[Ids], Integers, NDArray[np.bool_]]:
    """Some rows as the model sees them, B P what is asked of each, and where that is more than filling up."""
    chosen = slice(begin, begin + ROWS)
    hidden = [row.copy() for row in rows[chosen]]
    most = max(map(len, places[chosen]))
    asked = np.zeros((len(hidden), most), dtype=np.int64)
    real = np.zeros(asked.shape, dtype=np.bool_)
    for number, (row, each) in enumerate(zip(hidden, places[chosen], strict=True)):
        row[each] = words.mask
        asked[number, : len(each)], real[number, : len(each)] = each, True
    return hidden, asked, real


def _times_as_fast(slow: Callable[[], object], fast: Callable[[], object]) -> float:
    """How many times as fast the second is, both taking turns."""
    ratios = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        slow()
        between = time.perf_counter()
        fast()
        ratios.append((between - start) / max(1e-9, time.perf_counter() - between))
    return median(ratios)
