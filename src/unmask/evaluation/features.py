"""Vectors for linear probes: what a frozen model knows of a text, and of each word in it.

In: an encoder and texts. Out: vectors of its last layer by `unmask.inference.vectors`, a mean for each text or the
first token's for each word. Special tokens are left out: families differ in what those know of the text. Long texts are
read in windows: every token counts, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unmask.inference.vectors import Encoder, row_vectors
from unmask.progress import task
from unmask.records import Integers, Reals
from unmask.tokens.tokenizer.encode import EncodedText, encode
from unmask.tokens.windows import read_windows


def text_vectors(encoder: Encoder, texts: Sequence[str]) -> Reals:
    """N D: the mean over the tokens of each text; of a text without tokens, zeros."""
    rows = encode(encoder.tokenizer, texts)
    means: list[Reals] = [np.zeros(0)] * len(rows)
    for number, vectors in _inside_vectors(encoder, rows):
        means[number] = vectors.mean(0) if len(vectors) else np.zeros(vectors.shape[1])
    return np.stack(means)


def word_vectors(encoder: Encoder, sentences: Sequence[Sequence[str]]) -> list[Reals]:
    """W D for each sentence: the first token of each word. Words are joined by a space."""
    rows = encode(encoder.tokenizer, [" ".join(words) for words in sentences], offsets=True)
    by_sentence: list[Reals] = [np.zeros((0, 0))] * len(rows)
    for number, vectors in _inside_vectors(encoder, rows):
        first = _first_tokens(sentences[number], rows[number])
        inside = first < len(vectors)  # a word that no token is left of has zeros
        by_sentence[number] = np.zeros((len(first), vectors.shape[1]))
        by_sentence[number][inside] = vectors[first[inside]]
    return by_sentence


def _first_tokens(words: Sequence[str], row: EncodedText) -> Integers:
    """W: the number of the token that each word begins in; some tokenizers count the space before it in."""
    assert row.offsets is not None
    begins = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
    first: Integers = np.searchsorted(row.offsets[:, 1], begins, side="right").astype(np.int64)
    return first


def _inside_vectors(encoder: Encoder, rows: Sequence[EncodedText]) -> Iterator[tuple[int, Reals]]:
    """The number of each row, and L D vectors of its tokens without those around them.

    A text that is longer than the model takes is read in windows, each token where it has most context.
    """
    opening, closing = encoder.around
    readings = [read_windows(len(row.ids), encoder.room) for row in rows]
    parts = [(number, window) for number, reading in enumerate(readings) for window in reading.windows]
    whole = [np.r_[opening, rows[number].ids[window.begin : window.end], closing] for number, window in parts]
    waiting = [len(reading.windows) for reading in readings]
    inside: dict[int, Reals] = {}  # of the texts that are not read to their end
    with task("Reading", total=len(rows)) as step:
        for places, vectors in row_vectors(encoder, [row.astype(np.int32) for row in whole]):
            sizes = [len(whole[place]) for place in places]
            for place, states in zip(places.tolist(), vectors.cpu().double().split(sizes), strict=True):
                number, window = parts[place]
                judged = states[len(opening) :][window.judged]
                kept = inside.setdefault(number, np.zeros((len(rows[number].ids), states.shape[1])))
                kept[window.first : window.last] = judged.numpy()
                waiting[number] -= 1
                if not waiting[number]:
                    yield number, inside.pop(number)
                    step(1)
