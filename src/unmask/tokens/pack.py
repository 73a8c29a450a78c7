"""Shards to blocks: documents cut to the block length and packed so that little is padding.

In: a split's token stream and where its documents end. Out: `Blocks`, any of them, by number.

A document longer than a block is cut into full pieces and a rest; pieces are packed by best fit, longest first,
each with its own opening and closing token (waste under 3 % on ordinary text, nothing truncated). Which pieces
share a block and in what order blocks come is a function of (seed, epoch); how many blocks there are depends on the
lengths alone and so is the same in every epoch. To go on at any block, nothing has to be replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unmask.errors import Damaged
from unmask.randomness import Draws, mix_bits
from unmask.records import Blocks, Integers, TokenStream, Vocabulary

SORT_BATCHES = 64  # batches among which pieces are sorted by length
AROUND = 2  # the opening and the closing token of each piece


@dataclass(frozen=True)
class Pieces:
    """Stretches of the stream, none longer than a block has room for."""

    starts: Integers  # N
    lengths: Integers  # N
    documents: Integers  # N, the document each was cut from


def cut_documents(ends: Integers, room: int) -> Pieces:
    """Cut documents into pieces of `room` tokens and a rest; empty documents give none.

    >>> cut_documents(np.array([7, 7, 9]), room=3)
    Pieces(starts=array([0, 3, 6, 7]), lengths=array([3, 3, 1, 2]), documents=array([0, 0, 0, 2]))
    """
    begins = np.concatenate(([0], ends[:-1])).astype(np.int64)
    counts = -(-(ends - begins) // room)
    documents = np.repeat(np.arange(len(ends)), counts)
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = begins[documents] + nth * room
    return Pieces(starts, np.minimum(room, ends[documents] - starts), documents)


def best_fit(lengths: Integers, capacity: int) -> tuple[Integers, int]:
    """The block of each piece, and how many blocks there are: longest first, each into the tightest room.

    Pieces of one length are placed together, so the work is of the order of pieces + capacity², not
    pieces × log(blocks).

    >>> best_fit(np.array([2, 5, 3, 2]), capacity=7)
    (array([0, 0, 1, 1]), 2)
    """
    block = np.empty(len(lengths), dtype=np.int64)
    rooms: list[list[NDArray[np.int64]]] = [[] for _ in range(capacity + 1)]  # blocks by the room they have left
    open_rooms = np.zeros(capacity + 1, dtype=np.bool_)
    blocks = 0
    by_length = np.argsort(-lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[by_length], prepend=-1, append=-1))
    for begin, end in pairwise(edges):
        todo = by_length[begin:end]
        length = int(lengths[todo[0]])
        while len(todo):
            if open_rooms[length:].any():
                room = length + int(open_rooms[length:].argmax())
                tight = np.concatenate(rooms[room])
                rooms[room] = []
            else:  # as many new blocks as these pieces fill
                room = capacity
                tight = np.arange(blocks, blocks - (-len(todo) // (capacity // length)))
                blocks += len(tight)
            filled, spare = tight[: len(todo)], tight[len(todo) :]
            block[todo[: len(filled)]] = filled
            todo = todo[len(filled) :]
            rooms[room - length].append(filled)
            if len(spare):
                rooms[room].append(spare)
            open_rooms[room - length], open_rooms[room] = True, bool(rooms[room])
    return block, blocks


@dataclass(frozen=True)
class Packing:
    """Which pieces make up each block of one epoch."""

    pieces: Pieces
    order: Integers  # N, pieces by block
    edges: Integers  # blocks + 1, where each block's pieces begin in `order`
    length: int
    epoch: int

    @property
    def blocks(self) -> int:
        """How many blocks the epoch has."""
        return len(self.edges) - 1

    @property
    def waste(self) -> float:
        """The part of all positions that is padding."""
        return 1 - float((self.pieces.lengths + AROUND).sum()) / (self.blocks * self.length)


def pack_pieces(pieces: Pieces, length: int, *, seed: int, epoch: int) -> Packing:
    """The epoch's blocks: a random choice among equal best fits, in a random order."""
    shuffle = random_order(len(pieces.starts), seed, epoch, 0)
    block, blocks = best_fit(pieces.lengths[shuffle] + AROUND, length)
    block = random_order(blocks, seed, epoch, 1)[block]
    order = np.argsort(block, kind="stable")
    edges = np.searchsorted(block[order], np.arange(blocks + 1))
    return Packing(pieces, shuffle[order], edges, length, epoch)


def group_by_length(pieces: Pieces, length: int, *, rows: int, offset: int = 0, seed: int, epoch: int) -> Packing:
    """Each piece in a block of its own, blocks of like length together: for models that cannot keep documents apart.

    Pieces are shuffled, sorted by length within stretches of `SORT_BATCHES` batches, cut into batches of `rows` (the
    first shorter by `offset`, where the epoch begins in the middle of a batch), and the batches are shuffled.
    """
    count = len(pieces.starts)
    shuffle = random_order(count, seed, epoch, 0)
    stretch = np.arange(count) // (SORT_BATCHES * rows)
    by_length = shuffle[np.lexsort((pieces.lengths[shuffle], stretch))]
    batch = (np.arange(count) + offset) // rows
    place = random_order(int(batch[-1]) + 1 if count else 0, seed, epoch, 1)
    place[:1], place[-1:] = -1, len(place)  # the first and the last may be short: they stay where they are
    order = by_length[np.argsort(place[batch], kind="stable")]
    return Packing(pieces, order, np.arange(count + 1), length, epoch)


def random_order(count: int, seed: int, epoch: int, purpose: int) -> Integers:
    """A random order of `count` things, a function of the numbers alone; keys never tie."""
    keys = Draws.of(seed, epoch, np.arange(count)).keys
    return np.argsort(mix_bits(keys + np.uint64(purpose)))


def one_per_block(pieces: Pieces, length: int) -> Packing:
    """Each piece in a block of its own, in the order of the text: what evaluation reads."""
    count = len(pieces.starts)
    return Packing(pieces, np.arange(count), np.arange(count + 1), length, epoch=0)


def read_blocks(
    stream: TokenStream,
    packing: Packing,
    numbers: Sequence[int] | Integers,
    vocabulary: Vocabulary,
    *,
    multiple: int = 1,
) -> Blocks:
    """Read the blocks with these numbers; rows are as long as the fullest of them, or the next `multiple`.

    A row's padding says nothing, so trimming it changes no example.
    """
    rows = [packing.order[packing.edges[n] : packing.edges[n + 1]] for n in numbers]
    fullest = max((int((packing.pieces.lengths[row] + AROUND).sum()) for row in rows), default=0)
    width = min(packing.length, -(-fullest // multiple) * multiple)
    ids = np.full((len(rows), width), vocabulary.pad, dtype=np.int32)
    word_starts = np.zeros((len(rows), width), dtype=np.bool_)
    documents = np.zeros((len(rows), width), dtype=np.int32)
    for row, members in enumerate(rows):
        column = 0
        for document, number in enumerate(members, start=1):
            start, size = int(packing.pieces.starts[number]), int(packing.pieces.lengths[number])
            inside = slice(column + 1, column + 1 + size)
            ids[row, column] = vocabulary.start
            ids[row, inside], word_starts[row, inside] = stream.read(start, start + size)
            ids[row, column + 1 + size] = vocabulary.end
            documents[row, column : column + size + AROUND] = document
            column += size + AROUND
    if (wrong := ids >= vocabulary.size).any():
        first = int(np.asarray(numbers)[wrong.any(axis=1)][0])
        raise Damaged(
            f"block {first} of epoch {packing.epoch} has the token {int(ids[wrong][0])}, beyond the vocabulary of "
            f"{vocabulary.size:,}: the data is damaged, unmask verify says where"
        )
    return Blocks(ids, word_starts, documents, np.asarray(numbers, dtype=np.int64), packing.epoch)
