from __future__ import annotations

import numpy as np
import pytest

from unmask.errors import Damaged
from unmask.records import Vocabulary
from unmask.tokens.pack import cut_documents, pack_pieces, read_blocks
from unmask.tokens.spans.find import gazetteer
from unmask.tokens.spans.marked import Spans, SpanWriter, mark_blocks, token_stretches
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.train import train_tokenizer

TEXTS = [
    "New York is not the New York Times.",
    "nothing here",
    "",
    "In 東京都 and in New Yorkers' York.",
] * 100
PHRASES = ["New York", "New York Times", "York", "東京"]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_spans_become_stretches_of_the_token_stream(kind, tmp_path):
    tokenizer = train_tokenizer(TEXTS, kind, {"wordpiece": 60, "bpe": 300, "unigram": 44}[kind], True)
    encoded = encode(tokenizer, TEXTS, offsets=True)
    with SpanWriter(tmp_path, "entity") as writer:
        for begin in range(0, len(TEXTS), 150):
            writer.add(encoded[begin : begin + 150], gazetteer(PHRASES)(TEXTS[begin : begin + 150]))
    spans = Spans.open(tmp_path / "spans.entity.npy")
    assert (np.diff(spans.stretches.ravel()) >= 0).all() and len(spans.stretches) == writer.spans == 400
    size = sum(len(one.ids) for one in encoded[:4])
    assert (spans.stretches[4:8] - spans.stretches[:4] == size).all()  # the texts repeat after four
    first = encoded[0]
    marks = spans.marks(0, len(first.ids))
    covered = [
        TEXTS[0][first.offsets[marks == number][0][0] : first.offsets[marks == number][-1][1]].strip()
        for number in np.unique(marks[marks > 0])
    ]
    assert covered == ["New York", "New York Times"]


def test_any_part_of_the_stream_can_be_marked():
    spans = Spans(np.array([[2, 4], [4, 5], [9, 12]]))
    assert spans.marks(0, 12).tolist() == [0, 0, 1, 1, 2, 0, 0, 0, 0, 3, 3, 3]
    assert spans.marks(3, 10).tolist() == [1, 2, 0, 0, 0, 0, 3]
    assert spans.marks(5, 9).tolist() == [0, 0, 0, 0]
    assert Spans(np.zeros((0, 2), dtype=np.int64)).marks(0, 2).tolist() == [0, 0]


def test_a_token_that_a_span_covers_in_part_is_part_of_it_and_of_one_span_only():
    offsets = np.array([(0, 3), (3, 9), (9, 12)])
    assert token_stretches(offsets, [(2, 4), (5, 10)]).tolist() == [[0, 2], [2, 3]]


def test_a_damaged_file_of_spans_is_named(tmp_path):
    for name, content in (("short", b"\x93NUMPY"), ("other", None)):
        path = tmp_path / name
        if content is None:
            np.save(path.with_suffix(".npy"), np.zeros(3))
            path = path.with_suffix(".npy")
        else:
            path.write_bytes(content)
        with pytest.raises(Damaged, match=name):
            Spans.open(path)
    with pytest.raises(Damaged, match="missing"):
        Spans.open(tmp_path / "nowhere.npy")


class Stream:
    """Tokens that are their own place in the stream, from 10 on."""

    ends = np.array([7, 7, 30, 34, 60])

    def read(self, start, stop):
        return np.arange(start + 10, stop + 10, dtype=np.int32), np.ones(stop - start, dtype=np.bool_)


def test_packed_blocks_are_marked_where_their_pieces_went():
    spans = Spans(np.array([[0, 2], [5, 9], [20, 25], [40, 41]]))  # the second reaches into the next document
    vocabulary = Vocabulary(size=99, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
    packing = pack_pieces(cut_documents(Stream.ends, 10), 12, seed=0, epoch=0)
    blocks = read_blocks(Stream(), packing, np.arange(packing.blocks), vocabulary)
    marks = mark_blocks(blocks, packing, {"entity": spans}).spans["entity"]
    inside = np.concatenate([np.arange(begin, end) for begin, end in spans.stretches]) + 10
    assert (np.isin(blocks.ids, inside) & (blocks.ids > 4)).tolist() == (marks > 0).tolist()
    assert sorted(blocks.ids[marks > 0].tolist()) == sorted(inside.tolist())
