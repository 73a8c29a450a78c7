"""Texts to vectors: one for each text, long or short.

In: an encoder and texts. Out: `TextVector` for each, in their order. The mean is over all tokens of a row, those that
open and close it among them, as sentence-transformers takes it. A text that is longer than a row is read in windows:
each token counts once, in the window where it has most context.

    mean     the mean over the tokens of the last layer
    first    the token that opens the row; over windows the mean, weighted by their tokens
    last4    the mean over the tokens of the mean of the last four layers, or of another number of them
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unmask.errors import BadInput
from unmask.inference.vectors import Encoder, row_vectors
from unmask.records import Ids
from unmask.results import Embedded
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.windows import OnLong, Reading, Window, read_windows

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class TextPooling:
    """How the vectors of tokens become one of a text."""

    first: bool = False  # the opening token's alone
    layers: int = 1  # of the last layers, the mean

    @classmethod
    def named(cls, name: str, encoder: Encoder | None = None) -> TextPooling:
        """The pooling of a name, if the encoder has the layers for it.

        >>> TextPooling.named("last4")
        TextPooling(first=False, layers=4)
        """
        match = re.fullmatch(r"last([1-9]\d?)", name)
        if name not in ("mean", "first") and match is None:
            raise BadInput(f"--pooling {name}: choose mean, first, or last4 (or another number of the last layers)")
        layers = int(match[1]) if match else 1
        there = layers if encoder is None else int(encoder.model.config.get_text_config().num_hidden_layers)
        if layers > there:
            raise BadInput(f"--pooling {name}: this model has {there} layers; give at most last{there}")
        return cls(name == "first", layers)


MEAN = TextPooling()


class TextVector(NamedTuple):
    """One text's vector, and how the text was read."""

    vector: Vectors  # D
    reading: Reading

    def as_result(self, text: str) -> Embedded:
        """The vector of a text, as the verb gives it."""
        counts = {
            "tokens_read": self.reading.tokens_read,
            "windows": len(self.reading.windows),
            "cut": self.reading.cut,
        }
        return Embedded(text=text, vector=tuple(self.vector.tolist()), **counts)


class Stretch(NamedTuple):
    """A row of a text, and the tokens of it that count."""

    text: int  # its number
    row: Ids
    begin: int  # the first place in the row that counts
    end: int


def embed_texts(
    encoder: Encoder,
    texts: Sequence[str],
    pooling: TextPooling = MEAN,
    *,
    on_long: OnLong = "windows",
    step: Callable[[float], None] = lambda _: None,
) -> list[TextVector | BadInput]:
    """A vector for each text, or what is wrong with it; `step` is told how many tokens were read."""
    stretches: list[Stretch] = []
    readings: list[Reading | BadInput] = []
    for number, ids in enumerate(_encoded(encoder, texts)):
        try:
            reading = read_windows(len(ids), encoder.room, on_long) if isinstance(ids, np.ndarray) else ids
        except BadInput as error:
            reading = error
        readings.append(reading)
        if isinstance(reading, Reading) and isinstance(ids, np.ndarray):
            stretches += _stretches(encoder, number, ids, reading)
    sums, counts = torch.zeros(len(texts), encoder.width, dtype=torch.float64), np.zeros(len(texts))
    for numbers, vectors in row_vectors(encoder, [stretch.row for stretch in stretches], layers=pooling.layers):
        rows = [stretches[number] for number in numbers.tolist()]
        owners = [stretch.text for stretch in rows]
        sums.index_add_(0, torch.tensor(owners), _pooled(vectors, rows, pooling).double().cpu())
        np.add.at(counts, owners, [stretch.end - stretch.begin for stretch in rows])
        step(sum(len(stretch.row) for stretch in rows))
    means = (sums.numpy() / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return [
        reading if isinstance(reading, BadInput) else TextVector(mean, reading)
        for mean, reading in zip(means, readings, strict=True)
    ]


def _encoded(encoder: Encoder, texts: Sequence[str]) -> Iterator[Ids | BadInput]:
    """The tokens of each text; one that is no valid Unicode is told apart from the others."""
    try:
        yield from (row.ids for row in encode(encoder.tokenizer, texts))
    except BadInput:
        for text in texts:
            try:
                yield encode(encoder.tokenizer, [text])[0].ids
            except BadInput as error:
                yield error


def _stretches(encoder: Encoder, number: int, ids: Ids, reading: Reading) -> Iterator[Stretch]:
    """The windows of a text as rows; the opening token counts in the first of them, the closing one in the last."""
    opening, closing = encoder.around
    windows: list[Window] = reading.windows
    for place, window in enumerate(windows):
        row = np.r_[opening, ids[window.begin : window.end], closing].astype(np.int32)
        begin = 0 if place == 0 else len(opening) + window.judged.start
        end = len(row) if place == len(windows) - 1 else len(opening) + window.judged.stop
        yield Stretch(number, row, begin, end)


def _pooled(vectors: Tensor, rows: Sequence[Stretch], pooling: TextPooling) -> Tensor:
    """B D: the sum over the tokens of each row that count, of the vectors of all tokens one after the other."""
    begins = np.cumsum([0, *(len(stretch.row) for stretch in rows)])[:-1]
    sizes = np.array([stretch.end - stretch.begin for stretch in rows])
    if pooling.first:
        return vectors[torch.from_numpy(begins)] * torch.from_numpy(sizes).to(vectors)[:, None]
    owners = torch.from_numpy(np.repeat(np.arange(len(rows)), sizes)).to(vectors.device)
    if len(owners) < len(vectors):
        counted = [begin + np.arange(stretch.begin, stretch.end) for begin, stretch in zip(begins, rows, strict=True)]
        vectors = vectors[torch.from_numpy(np.concatenate(counted)).to(vectors.device)]
    return vectors.new_zeros(len(rows), vectors.shape[1]).index_add_(0, owners, vectors)
