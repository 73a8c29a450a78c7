from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.records import Flags, Ids, Integers, Vocabulary
from unmask.tokens.pack import (
    Packing,
    best_fit,
    cut_documents,
    group_by_length,
    one_per_block,
    pack_pieces,
    read_blocks,
)

VOCABULARY = Vocabulary(size=70_000, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))


@dataclass(frozen=True)
class Tokens:
    """A stream whose tokens count up from 5, so that every token says where it was."""

    ends: Integers

    def read(self, start: int, stop: int) -> tuple[Ids, Flags]:
        return np.arange(start + 5, stop + 5, dtype=np.int32), np.arange(start, stop) % 3 == 0


def stream(lengths: list[int]) -> Tokens:
    return Tokens(np.cumsum(lengths, dtype=np.int64))


lengths = st.lists(st.integers(0, 60), min_size=1, max_size=40)


@given(lengths, st.integers(1, 20))
def test_pieces_cover_every_token_once_and_never_cross_documents(lengths: list[int], room: int) -> None:
    text = stream(lengths)
    pieces = cut_documents(text.ends, room)
    covered = np.concatenate([np.arange(s, s + n) for s, n in zip(pieces.starts, pieces.lengths, strict=True)] + [[]])
    assert np.array_equal(covered, np.arange(sum(lengths)))
    begins = text.ends - lengths
    assert np.all(pieces.starts >= begins[pieces.documents])
    assert np.all(pieces.starts + pieces.lengths <= text.ends[pieces.documents])
    assert np.all((pieces.lengths > 0) & (pieces.lengths <= room))


def one_at_a_time(lengths: list[int], capacity: int) -> int:
    """Best fit, longest first, as the textbook has it: how many blocks it needs."""
    rooms: list[int] = []
    for length in sorted(lengths, reverse=True):
        fitting = [index for index, room in enumerate(rooms) if room >= length]
        if fitting:
            rooms[min(fitting, key=lambda index: rooms[index])] -= length
        else:
            rooms.append(capacity - length)
    return len(rooms)


@settings(deadline=None)
@given(st.lists(st.integers(1, 32), min_size=1, max_size=200))
def test_no_block_overflows_and_blocks_are_as_few_as_one_at_a_time_needs(lengths: list[int]) -> None:
    block, blocks = best_fit(np.array(lengths), 32)
    filled = np.bincount(block, weights=lengths, minlength=blocks)
    assert filled.max() <= 32 and filled.min() > 0
    assert blocks <= one_at_a_time(lengths, 32) * 1.05 + 1


@settings(deadline=None, max_examples=50)
@given(lengths, st.integers(0, 3), st.integers(0, 2**40))
def test_packed_blocks_hold_every_token_exactly_once(lengths: list[int], epoch: int, seed: int) -> None:
    text = stream(lengths)
    packing = pack_pieces(cut_documents(text.ends, 14), 16, seed=seed, epoch=epoch)
    blocks = read_blocks(text, packing, range(packing.blocks), VOCABULARY)
    ordinary = blocks.ids >= 5
    assert np.array_equal(np.sort(blocks.ids[ordinary]), np.arange(sum(lengths)) + 5)
    assert np.array_equal(blocks.word_starts, ordinary & ((blocks.ids - 5) % 3 == 0))
    assert np.array_equal(blocks.documents == 0, blocks.ids == VOCABULARY.pad)


def test_a_block_is_laid_out_as_drawn() -> None:
    text = stream([3, 1])
    packing = pack_pieces(cut_documents(text.ends, 7), 9, seed=0, epoch=0)
    blocks = read_blocks(text, packing, [0], VOCABULARY)
    assert blocks.ids.tolist() == [[2, 5, 6, 7, 3, 2, 8, 3]]
    assert blocks.documents.tolist() == [[1, 1, 1, 1, 1, 2, 2, 2]]
    assert blocks.word_starts.astype(int).tolist() == [[0, 1, 0, 0, 0, 0, 1, 0]]


def test_packing_and_order_change_with_the_epoch_and_the_seed_and_with_nothing_else() -> None:
    pieces = cut_documents(stream([7, 12, 3, 30, 9, 9, 9, 2, 5] * 20).ends, 30)
    packings = [pack_pieces(pieces, 32, seed=seed, epoch=epoch) for seed, epoch in ((0, 0), (0, 0), (0, 1), (1, 0))]
    assert np.array_equal(packings[0].order, packings[1].order)
    assert not np.array_equal(packings[0].order, packings[2].order)
    assert not np.array_equal(packings[0].order, packings[3].order)
    assert len({packing.blocks for packing in packings}) == 1


def test_little_is_padding_on_text_with_documents_of_every_length() -> None:
    lengths = np.random.default_rng(0).lognormal(4, 1, 20_000).astype(int) + 1
    for length in (128, 512):
        packing = pack_pieces(cut_documents(np.cumsum(lengths), length - 2), length, seed=0, epoch=0)
        assert packing.waste < 0.03


@pytest.mark.parametrize("numbers", [[0, 1, 2, 3], [3, 1], [2]])
def test_a_block_is_the_same_whatever_is_read_with_it(numbers: list[int]) -> None:
    text = stream([40, 3, 17, 8, 8])
    packing = pack_pieces(cut_documents(text.ends, 14), 16, seed=0, epoch=0)
    every = read_blocks(text, packing, range(packing.blocks), VOCABULARY)
    some = read_blocks(text, packing, numbers, VOCABULARY)
    width = some.ids.shape[1]
    assert np.array_equal(some.ids, every.ids[numbers][:, :width])
    assert np.all(every.ids[numbers][:, width:] == VOCABULARY.pad)


def test_alone_keeps_the_order_of_the_text() -> None:
    text = stream([5, 2])
    blocks = read_blocks(text, one_per_block(cut_documents(text.ends, 3), 5), range(3), VOCABULARY)
    assert blocks.ids.tolist() == [[2, 5, 6, 7, 3], [2, 8, 9, 3, 0], [2, 10, 11, 3, 0]]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=60), st.integers(1, 9), st.integers(0, 8), st.integers(0, 3))
def test_grouped_blocks_hold_every_piece_once_and_are_the_same_each_time(
    sizes: list[int], rows: int, offset: int, epoch: int
) -> None:
    pieces = cut_documents(np.cumsum(sizes), room=30)
    packing = group_by_length(pieces, 32, rows=rows, offset=offset % rows, seed=1, epoch=epoch)
    assert sorted(packing.order) == list(range(len(pieces.starts))) and packing.blocks == len(pieces.starts)
    again = group_by_length(pieces, 32, rows=rows, offset=offset % rows, seed=1, epoch=epoch)
    np.testing.assert_array_equal(packing.order, again.order)


def test_grouped_blocks_come_in_another_order_in_another_epoch_and_of_another_seed() -> None:
    pieces = cut_documents(np.cumsum([7, 12, 3, 30, 9, 9, 9, 2, 5] * 20), 30)
    orders = [
        group_by_length(pieces, 32, rows=4, seed=seed, epoch=epoch).order for seed, epoch in ((0, 0), (0, 1), (1, 0))
    ]
    assert not np.array_equal(orders[0], orders[1]) and not np.array_equal(orders[0], orders[2])


def test_grouped_batches_are_padded_little() -> None:
    lengths = np.random.default_rng(0).integers(1, 126, 4096)
    pieces = cut_documents(np.cumsum(lengths), room=126)

    def waste(packing: Packing) -> float:
        rows = packing.pieces.lengths[packing.order].reshape(-1, 16)
        return float(1 - rows.sum() / (rows.max(axis=1) * 16).sum())

    assert waste(group_by_length(pieces, 128, rows=16, seed=0, epoch=0)) < 0.03 < waste(one_per_block(pieces, 128))


def test_rows_rounded_up_are_the_same_with_more_padding_and_never_longer_than_a_block() -> None:
    text = stream([5, 2, 40])
    packing = one_per_block(cut_documents(text.ends, 18), 20)
    for number, width in enumerate((8, 8, 20, 8)):
        exact = read_blocks(text, packing, [number], VOCABULARY)
        rounded = read_blocks(text, packing, [number], VOCABULARY, multiple=8)
        filling = width - exact.ids.shape[1]
        assert rounded.ids.tolist() == [exact.ids[0].tolist() + [VOCABULARY.pad] * filling]
        assert rounded.documents.tolist() == [exact.documents[0].tolist() + [0] * filling]
