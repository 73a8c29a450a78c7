"""Vectors for linear probes: what a frozen model knows of a text, and of each word in it.

In: an encoder and texts. Out: vectors of its last layer by `unmask.inference.vectors`, a mean for each text or the
first token's for each word. Special tokens are left out: families differ in what those know of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unmask.inference.vectors import Encoder, row_vectors
from unmask.progress import task
from unmask.records import Integers, Reals
from unmask.tokens.tokenizer.encode import EncodedText, encode


def text_vectors(encoder: Encoder, texts: Sequence[str]) -> Reals:
    """N D: the mean over the tokens of each text; of a text without tokens, zeros."""
    rows = encode(encoder.tokenizer, texts)
    means: list[Reals] = [np.zeros(0)] * len(rows)
    for number, vectors in _inside_vectors(encoder, rows):
        means[number] = vectors.mean(0) if len(vectors) else np.zeros(vectors.shape[1])
    return np.stack(means)


def word_vectors(encoder: Encoder, sentences: Sequence[Sequence[str]]) -> list[Reals]:
    """W D for each sentence: the first token of each word; of a word beyond what the model takes, zeros.

    Words are joined by a space.
    """
    rows = encode(encoder.tokenizer, [" ".join(words) for words in sentences], offsets=True)
    by_sentence: list[Reals] = [np.zeros((0, 0))] * len(rows)
    for number, vectors in _inside_vectors(encoder, rows):
        first = _first_tokens(sentences[number], rows[number])
        inside = first < len(vectors)
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
    """The number of each row, and L D vectors of its tokens without those around them."""
    opening, closing = encoder.around
    inside = [row.ids[: encoder.room] for row in rows]
    whole = [np.r_[opening, tokens, closing].astype(np.int32) for tokens in inside]
    with task("Reading", total=len(rows)) as step:
        for numbers, vectors in row_vectors(encoder, whole):
            for number, row in zip(numbers.tolist(), vectors.cpu().double().numpy(), strict=True):
                yield number, row[len(opening) : len(opening) + len(inside[number])]
            step(len(numbers))
