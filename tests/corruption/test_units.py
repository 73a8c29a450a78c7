import numpy as np
from corruption_cases import CLS, MASK, NONE, SEP, UNK, VOCABULARY, batches, law

from unmask.corruption import units
from unmask.records import Blocks


def blocks(ids, starts, documents=None):
    ids = np.array([ids], dtype=np.int32)
    documents = np.ones_like(ids) if documents is None else np.array([documents], dtype=np.int32)
    return Blocks(ids, np.array([starts], dtype=np.bool_), documents, np.arange(1), 0)


def as_lists(grouped):
    return [part.tolist() for part in np.split(grouped.positions, grouped.starts[1:])]


def test_a_word_is_all_of_its_pieces():
    row = blocks([CLS, 10, 11, 12, 13, SEP], [0, 1, 1, 0, 0, 0])
    assert as_lists(units.words(row, VOCABULARY, NONE)) == [[1], [2, 3, 4]]
    assert as_lists(units.tokens(row, VOCABULARY, NONE)) == [[1], [2], [3], [4]]


def test_an_unknown_piece_does_not_join_the_words_around_it():
    opens = blocks([10, UNK, 11], [1, 1, 0])
    assert as_lists(units.words(opens, VOCABULARY, NONE)) == [[0], [2]]
    inside = blocks([10, UNK, 11], [1, 0, 0])
    assert as_lists(units.words(inside, VOCABULARY, NONE)) == [[0, 2]]


def test_a_word_cut_by_the_row_or_by_a_document_stays_apart():
    row = blocks([10, 11, SEP, CLS, 12, 13], [0, 1, 0, 0, 0, 0], [1, 1, 1, 2, 2, 2])
    assert as_lists(units.words(row, VOCABULARY, NONE)) == [[0], [1], [4, 5]]


def test_special_tokens_and_padding_are_in_no_unit():
    row = blocks([CLS, 10, MASK, 11, 12], [0, 1, 0, 1, 1], [1, 1, 1, 1, 0])
    assert as_lists(units.tokens(row, VOCABULARY, NONE)) == [[1], [3]]


@law(rows=batches())
def test_units_are_a_partition_of_the_eligible_tokens(rows):
    may = units.eligible(rows, VOCABULARY)
    for grouped in (units.tokens(rows, VOCABULARY, NONE), units.words(rows, VOCABULARY, NONE)):
        assert grouped.positions.tolist() == np.flatnonzero(may).tolist()
        assert grouped.sizes.sum() == may.sum() and (grouped.sizes > 0).all()
        assert grouped.tokens.tolist() == may.sum(axis=1).tolist()
        owner = np.repeat(grouped.rows, grouped.sizes)
        assert (owner == grouped.positions // may.shape[1]).all()
        document = rows.documents.ravel()[grouped.positions]
        assert (np.minimum.reduceat(document, grouped.starts) == np.maximum.reduceat(document, grouped.starts)).all()
