"""What stands beside what: token vectors from a corpus's counts of neighbours, without any training.

In: the token stream of a split. Out: V×R vectors, in which tokens that occur between the same neighbours lie close.

Each token's row says how much more often than by chance each other token stands one or two places to its left or right:
positive pointwise mutual information, with contexts smoothed by a power of 0.75. The strongest directions of these rows
are the vectors (Levy & Goldberg 2014; Levy, Goldberg & Dagan 2015, who weigh a direction by the root of its singular
value). A model that begins with them need not find out first which words are alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unmask.errors import Damaged
from unmask.records import Ids, Integers
from unmask.tokens.store.shards import Shards

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Vectors = NDArray[np.float32]

OFFSETS = {1: 1.0, 2: 0.7}  # how far to each side, and how much it weighs
CONTEXTS = 1 << 14  # tokens that are looked for beside others, the most frequent: memory stays small for any vocabulary
SMOOTHING = 0.75  # of context frequencies: rare contexts would else seem the most telling
SAMPLE, STRETCHES = 4 << 20, 64  # tokens that are counted, in so many stretches evenly over the split
POWER = 0.5  # of a direction's singular value: 0 would make all directions equal
ROUNDS, SPARE = 3, 16  # of the randomised decomposition (Halko, Martinsson & Tropp 2011), and directions to spare


def token_vectors(stream: Shards, size: int, rank: int) -> Vectors:
    """V×R vectors of a vocabulary's tokens; tokens that the sample does not have get zeros."""
    from scipy.sparse import hstack

    ids, documents = sample_stream(stream, SAMPLE, STRETCHES)
    if len(ids) and (highest := int(ids.max())) >= size:
        raise Damaged(
            f"the text to train on has the token {highest}, beyond the vocabulary of {size:,}: the data is damaged, "
            "unmask verify says where"
        )
    contexts = np.full(size, -1, dtype=np.int64)
    frequent = np.argsort(-np.bincount(ids, minlength=size), kind="stable")[:CONTEXTS]
    contexts[frequent] = np.arange(len(frequent))
    blocks = []
    for offset, weight in OFFSETS.items():
        beside = documents[:-offset] == documents[offset:]
        left, right = ids[:-offset][beside], ids[offset:][beside]
        for tokens, others in ((left, contexts[right]), (right, contexts[left])):
            known = others >= 0
            blocks.append(weight * positive_pmi(tokens[known], others[known], (size, len(frequent))))
    return strongest_directions(hstack(blocks, format="csr"), rank)


def sample_stream(stream: Shards, tokens: int, stretches: int) -> tuple[Ids, Integers]:
    """Tokens from stretches all over a split, and a number for each that is the same within a document's stretch."""
    if stream.tokens <= tokens:
        tokens, stretches = stream.tokens, 1
    begins = np.linspace(0, stream.tokens - tokens // stretches, stretches).astype(np.int64)
    ids, documents = [], []
    for begin in begins.tolist():
        end = begin + tokens // stretches
        ids.append(stream.read(begin, end)[0])
        documents.append(np.searchsorted(stream.ends, np.arange(begin, end), side="right"))
    return np.concatenate(ids), np.concatenate(documents)


def positive_pmi(tokens: Ids, contexts: Integers, shape: tuple[int, int]) -> csr_matrix:
    """V×C: how much more likely a context is beside a token than anywhere, in nats, where it is more likely."""
    from scipy.sparse import csr_matrix

    ones = np.ones(len(tokens), dtype=np.float32)
    counts = csr_matrix((ones, (tokens, contexts)), shape=shape).tocoo()  # which adds up what occurs again
    of_token = np.bincount(tokens, minlength=shape[0]).astype(np.float64)
    of_context = np.bincount(contexts, minlength=shape[1]) ** SMOOTHING
    information = np.log(counts.data / of_token[counts.row] * (of_context.sum() / of_context[counts.col]))
    values = np.maximum(information, 0).astype(np.float32)
    return csr_matrix((values, (counts.row, counts.col)), shape=shape)


def strongest_directions(rows: csr_matrix, rank: int) -> Vectors:
    """Each row in the strongest directions of all of them, weighed by the roots of their singular values.

    A direction and its opposite are as strong, and which of them comes out is up to the processor: of each the one is
    taken in which what is farthest from 0 is positive, so that a model begins alike on every machine.
    """
    rank = min(rank, rows.shape[0])
    turned = rows.T.tocsr()
    width = min(rank + SPARE, rows.shape[0])
    basis = rows @ np.random.default_rng(0).standard_normal((rows.shape[1], width), dtype=np.float32)
    for _ in range(ROUNDS):
        basis = rows @ (turned @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    shadow = turned @ basis
    squares, directions = np.linalg.eigh(shadow.T @ shadow)  # ascending
    strengths = np.maximum(squares[::-1][:rank], 0) ** (POWER / 2)
    vectors: Vectors = (basis @ directions[:, ::-1][:, :rank] * strengths).astype(np.float32)
    farthest = np.take_along_axis(vectors, np.abs(vectors).argmax(0, keepdims=True), 0)
    return vectors * np.where(farthest < 0, np.float32(-1), np.float32(1))
