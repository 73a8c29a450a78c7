"""Whether an exported model says what the model says, on real texts: figures, and the gates that they have to pass.

In: the model, what was exported of it, texts. Out: for vectors the cosine of each pair; for fills, with one token of
each text hidden, how often both think the same token likeliest, and how often each is right.
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
ROWS = 16  # asked at once
ROUNDS = 5  # of timing, both sides taking turns


@dataclass(frozen=True)
class Parity:
    """How an export compares with its model."""

    texts: int
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
    return Parity(len(rows), cosine, None, None, speed)


def compare_fills(graph: FillGraph, file: Path, rows: Sequence[Ids], words: Vocabulary, *, int8: bool) -> Parity:
    """Best fills by torch and by onnxruntime, one token of each text hidden; refused where the gate is not passed."""
    session = OnnxSession(file, words.pad)
    hidden, positions, truths = hide_one_each(rows, words)
    ours, theirs = [], []

    def by_torch(batch: Sequence[Ids], asked: Integers) -> NDArray[np.float32]:
        ids, real = map(torch.from_numpy, padded(batch, words.pad))
        with torch.inference_mode():
            return np.asarray(graph(input_ids=ids, attention_mask=real, positions=torch.from_numpy(asked)).numpy())

    for begin in range(0, len(hidden), ROWS):
        batch, asked = hidden[begin : begin + ROWS], positions[begin : begin + ROWS]
        ours.append(by_torch(batch, asked).argmax(-1)[:, 0])
        theirs.append(session.logits(batch, asked).argmax(-1)[:, 0])
    best, exported = np.concatenate(ours), np.concatenate(theirs)
    same = float((best == exported).mean())
    accuracy = float((best == truths).mean()), float((exported == truths).mean())
    if int8 and accuracy[0] - accuracy[1] > INT8_POINTS:
        raise Refused(
            f"not exported: of {len(rows)} hidden tokens the model restores {accuracy[0]:.1%} and its 8-bit "
            f"graph {accuracy[1]:.1%}, more than {INT8_POINTS:.0%} less; --to onnx is exact"
        )
    if not int8 and same < SAME:
        raise Refused(
            f"not exported: only {same:.1%} of the best fills of {len(rows)} texts are the model's own, "
            f"and the gate is {SAME:.1%}"
        )
    first, places = hidden[:ROWS], positions[:ROWS]
    speed = _times_as_fast(lambda: by_torch(first, places), lambda: session.logits(first, places))
    return Parity(len(rows), None, same, accuracy, speed)


def hide_one_each(rows: Sequence[Ids], words: Vocabulary) -> tuple[list[Ids], Integers, Integers]:
    """Rows with one token hidden in each, N 1 where it is, and N what it was: the same for the same rows."""
    hidden, positions, truths = [], [], []
    for number, row in enumerate(rows):
        place = int(np.random.default_rng(number).integers(1, len(row) - 1))
        truths.append(int(row[place]))
        hidden.append(np.r_[row[:place], np.int32(words.mask), row[place + 1 :]].astype(np.int32))
        positions.append(place)
    return hidden, np.array(positions, dtype=np.int64)[:, None], np.array(truths)


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
