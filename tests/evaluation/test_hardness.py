import dataclasses

import numpy as np
import pytest
from corruption_cases import CLS, PAD, SEP, UNK, VOCABULARY

from unmask.corruption.policy import POLICIES
from unmask.errors import BadInput
from unmask.evaluation.bigram import NONE
from unmask.evaluation.hardness import known_neighbours, measure_hardness
from unmask.records import Answer, Blocks, Corrupted


def blocks_of(ids, documents):
    ids = np.array([ids], dtype=np.int32)
    return Blocks(ids, ids > 4, np.array([documents], dtype=np.int32), numbers=np.arange(1), epoch=0)


def hiding(blocks, *columns, **more):
    hidden = np.zeros(blocks.ids.shape, dtype=bool)
    hidden[0, list(columns)] = True
    return Corrupted(ids=blocks.ids, hidden=hidden, targets=blocks.ids[hidden], **more)


ROW = blocks_of([CLS, 10, 11, 12, 13, SEP, CLS, 20, UNK, 21, SEP, PAD], [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 0])


def test_a_neighbour_that_is_hidden_special_or_beyond_the_document_is_not_there():
    left, right = known_neighbours(ROW, hiding(ROW, 1, 3, 4, 7, 9), VOCABULARY)
    assert left.tolist() == [NONE, 11, NONE, NONE, NONE]
    assert right.tolist() == [11, NONE, NONE, NONE, NONE]
    bare = blocks_of([10, 11, 12, 13], [1, 1, 2, 2])  # no special token between
    left, right = known_neighbours(bare, hiding(bare, 0, 2), VOCABULARY)
    assert left.tolist() == [NONE, NONE] and right.tolist() == [11, 13]


def test_what_was_predicted_before_is_there():
    order = np.zeros(ROW.ids.shape, dtype=np.int32)
    order[0, [2, 3, 4]] = [2, 1, 3]
    left, right = known_neighbours(ROW, hiding(ROW, 2, 3, 4, order=order), VOCABULARY)
    assert left.tolist() == [10, NONE, 12] and right.tolist() == [12, NONE, NONE]
    none = np.zeros((1, 0), dtype=np.int32)
    spelt = hiding(ROW, 2, 3, answer=Answer(ids=none, documents=none, sentinels=(), pad=PAD))
    left, right = known_neighbours(ROW, spelt, VOCABULARY)
    assert left.tolist() == [10, 11] and right.tolist() == [NONE, 13]


def test_all_policies_are_measured_on_the_same_blocks(data):
    found = measure_hardness(data, length=64, phrases=["the king", "bread and butter"])
    assert [each.policy for each in found.policies] == list(POLICIES)
    assert found.rows > 20 and 0 < found.counted <= found.training_tokens
    for each in found.policies:
        assert each.hidden > 0 and each.bits.low < each.bits.value < each.bits.high
        assert each.bits.value < each.unigram_bits.value + 0.5  # of another split than was counted
        assert 0 <= each.under_one_bit.low <= each.under_one_bit.value <= 1 and 0 <= each.neighbours <= 2
    token, *others = found.policies
    assert token.beyond_reference is None
    assert all(each.beyond_reference.value == pytest.approx(each.bits.value - token.bits.value) for each in others)


def test_spans_are_harder_than_tokens_and_what_has_no_neighbour_is_as_hard_as_its_frequency(data):
    token, span = measure_hardness(data, ["span"], length=64).policies
    assert span.beyond_reference.low > 0.5 and span.neighbours < token.neighbours / 2
    assert span.under_one_bit.value < token.under_one_bit.value
    _, everything = measure_hardness(data, ["word"], rate=1.0, length=64).policies
    assert everything.neighbours == 0 and everything.rate == 1
    assert everything.bits.value == pytest.approx(everything.unigram_bits.value)


def test_held_out_text_is_needed(data, tmp_path):
    import unmask

    (tmp_path / "one.txt").write_text("One document that is long enough to be kept as it is.\n")
    folder = tmp_path / "data"
    unmask.prepare(tmp_path / "one.txt", out=folder)
    with pytest.raises(BadInput, match="no held-out text to measure on"):
        measure_hardness(folder)
    with pytest.raises(BadInput, match="length 2"):
        measure_hardness(data, length=2)


def test_a_policy_that_hides_nothing_has_no_figures(data):
    _, nothing = measure_hardness(data, ["word"], rate=0.0, length=64).policies
    assert nothing.hidden == 0 and np.isnan(dataclasses.astuple(nothing.bits)).all()
