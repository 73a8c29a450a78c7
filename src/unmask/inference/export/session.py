"""What an exported graph says, by onnxruntime: what those will see who run it without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.records import Ids, Integers


class OnnxSession:
    """A graph of `unmask export`, ready to be asked."""

    def __init__(self, file: Path, pad: int, threads: int = 0) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session: Any = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self.pad = pad

    def vectors(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """N D: the vector of each row."""
        ids, real = padded(rows, self.pad)
        return np.asarray(self.session.run(None, {"input_ids": ids, "attention_mask": real})[0])

    def logits(self, rows: Sequence[Ids], positions: Integers) -> NDArray[np.float32]:
        """N P V: at P positions of each row."""
        ids, real = padded(rows, self.pad)
        feed = {"input_ids": ids, "attention_mask": real, "positions": positions.astype(np.int64)}
        return np.asarray(self.session.run(None, feed)[0])


def padded(rows: Sequence[Ids], pad: int) -> tuple[Integers, Integers]:
    """B L: rows of ids filled up to the longest, and 1 where they are real."""
    width = max(map(len, rows))
    ids = np.full((len(rows), width), pad, dtype=np.int64)
    real = np.zeros_like(ids)
    for row, each in enumerate(rows):
        ids[row, : len(each)] = each
        real[row, : len(each)] = 1
    return ids, real
