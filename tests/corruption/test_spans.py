"""Units of several words: SpanBERT's spans, n-grams, and the spans somebody marked."""

import numpy as np
import pytest
from corruption_cases import CLS, SEP, VOCABULARY, batch, batches, law, rates
from scipy import stats

from unmask.corruption import policy, units
from unmask.corruption.policy import policy_named
from unmask.errors import BadInput
from unmask.randomness import Draws
from unmask.records import Blocks

WORDS_TOGETHER = ("word", "span", "ngram", "permutation", "masked-permutation")
MARKED_TOGETHER = ("entity", "phrase", "collocation")


def word_groups(blocks):
    """The eligible positions of each word, by a loop over the row: the reference."""
    groups, opened, before = [], None, None
    for row, column in np.ndindex(blocks.ids.shape):
        document = blocks.documents[row, column]
        if column == 0 or blocks.word_starts[row, column] or document != before:
            opened = []
            groups.append(opened)
        before = document
        if document and not VOCABULARY.is_special[blocks.ids[row, column]]:
            opened.append((row, column))
    return [group for group in groups if group]


def marked_groups(blocks, kind):
    """The eligible positions of each marked span, a run of one number in one document, by a loop."""
    groups, opened, before = [], None, None
    for row, column in np.ndindex(blocks.ids.shape):
        span, document = blocks.spans[kind][row, column], blocks.documents[row, column]
        if (row, document, span) != before:
            opened = []
            groups.append(opened if span else [])
        before = (row, document, span)
        if document and not VOCABULARY.is_special[blocks.ids[row, column]]:
            opened.append((row, column))
    return [group for group in groups if group]


@pytest.mark.parametrize("name", WORDS_TOGETHER)
@law(rows=batches(longest=511), rate=rates)
def test_a_word_is_hidden_whole_or_not_at_all(name, rows, rate):
    hidden = policy.corrupt(rows, policy_named(name, rate), VOCABULARY, seed=0).hidden
    for group in word_groups(rows):
        assert len({bool(hidden[place]) for place in group}) == 1


@pytest.mark.parametrize("name", MARKED_TOGETHER)
@law(rows=batches(longest=128), rate=rates)
def test_a_marked_span_is_hidden_whole_or_not_at_all(name, rows, rate):
    hidden = policy.corrupt(rows, policy_named(name, rate), VOCABULARY, seed=0).hidden
    for group in marked_groups(rows, name):
        assert len({bool(hidden[place]) for place in group}) == 1


@pytest.mark.parametrize("name", ["word", "span", "ngram", "permutation", "masked-permutation", *MARKED_TOGETHER])
@law(rows=batches(), rate=rates)
def test_a_row_is_within_one_unit_of_the_rate(name, rows, rate):
    chosen = policy_named(name, rate)
    how = policy.POLICIES[name]
    keys = {key: chosen.settings[key] for key in ("p", "longest", "weights", "kind") if key in chosen.settings}
    together = how.units(rows, VOCABULARY, Draws.of(9, rows.epoch, rows.numbers), **keys)
    largest = np.zeros(len(rows.ids))
    np.maximum.at(largest, together.rows, together.sizes)
    hidden = policy.corrupt(rows, chosen, VOCABULARY, seed=9).hidden.sum(axis=1)
    assert (np.abs(hidden - rate * together.tokens) <= largest + 1e-6).all()


@pytest.mark.parametrize("name", ["word", "span", "ngram", *MARKED_TOGETHER])
def test_the_tokens_of_a_unit_share_their_fate(name):
    rows = batch(rows=32, length=256)
    corrupted = policy.corrupt(rows, policy_named(name, 0.4), VOCABULARY, seed=0)
    shown = corrupted.ids[corrupted.hidden]
    fate = np.select([shown == VOCABULARY.mask, shown == corrupted.targets], [0, 1], 2)
    starts = np.flatnonzero(np.diff(corrupted.units, prepend=-1))
    assert len(starts) < len(fate)
    assert (np.minimum.reduceat(fate, starts) == np.maximum.reduceat(fate, starts)).all()


def lengths_in_words(rows, **settings):
    """How many words each hidden unit has, of units that no row's end has cut short."""
    name = settings.pop("name")
    chosen = policy_named(name, 0.15, **settings)
    corrupted = policy.corrupt(rows, chosen, VOCABULARY, seed=11)
    position = np.flatnonzero(corrupted.hidden)
    first = np.diff(corrupted.units, prepend=-1) != 0
    words = np.bincount(corrupted.units, rows.word_starts.ravel()[position]).astype(int)
    column = position[first] % rows.ids.shape[1]
    longest = policy_named(name, **settings).settings["longest"]
    return words[column < rows.ids.shape[1] - 1 - longest]  # one word has one token here


@pytest.mark.parametrize(
    "settings, share",
    [
        ({"name": "span"}, 0.2 * 0.8 ** np.arange(10)),
        ({"name": "span", "p": 0.4, "longest": 4}, 0.4 * 0.6 ** np.arange(4)),
        ({"name": "ngram"}, 1 / np.arange(1, 4)),
        ({"name": "ngram", "longest": 2, "weights": [1.0, 3.0]}, np.array([1.0, 3.0])),
    ],
)
def test_unit_lengths_follow_the_formula(settings, share):
    rows = batch(rows=400, length=512, kind="every token a word")
    lengths = lengths_in_words(rows, **settings)
    counts = np.bincount(lengths, minlength=len(share) + 1)[1:]
    assert len(counts) == len(share)
    # Units are drawn without replacement from a row, so the spread is a little below the multinomial one.
    assert stats.chisquare(counts, share / share.sum() * counts.sum()).pvalue > 0.001


def test_spans_of_spanbert_have_3_8_words_on_average():
    lengths = lengths_in_words(batch(rows=400, length=512, kind="every token a word"), name="span")
    assert abs(lengths.mean() - 3.797) < 0.06


def row(ids, starts, **spans):
    grid = np.array([ids], dtype=np.int32)
    return Blocks(
        grid,
        np.array([starts], dtype=np.bool_),
        np.ones_like(grid),
        np.arange(1),
        0,
        {kind: np.array([marks], dtype=np.int32) for kind, marks in spans.items()},
    )


def test_marked_spans_are_units_and_words_are_the_rest():
    rows = row([CLS, 10, 11, 12, 13, 14, 15, SEP], [0, 1, 1, 1, 1, 1, 0, 0], entity=[0, 0, 7, 7, 8, 0, 0, 0])
    each = units.marked(rows, VOCABULARY, Draws.of(0, 0, np.arange(1)), kind="entity")
    assert [part.tolist() for part in np.split(each.positions, each.starts[1:])] == [[1], [2, 3], [4], [5, 6]]


def test_spans_that_are_not_marked_are_asked_for_in_one_clear_line():
    with pytest.raises(BadInput, match="no spans of kind 'entity' are marked"):
        policy.corrupt(row([10], [1], phrase=[1]), policy_named("entity"), VOCABULARY, seed=0)


def test_span_keeps_the_edges_of_each_hidden_run():
    rows = batch(rows=16, length=64, documents=3, unknown=0.1)
    corrupted = policy.corrupt(rows, policy_named("span", 0.3), VOCABULARY, seed=0)
    for (line, column), (left, right) in zip(np.argwhere(corrupted.hidden), corrupted.edges, strict=True):
        expected_left, expected_right = column - 1, column + 1
        while expected_left >= 0 and corrupted.hidden[line, expected_left]:
            expected_left -= 1
        while expected_right < 64 and corrupted.hidden[line, expected_right]:
            expected_right += 1
        assert (left, right) == (expected_left, expected_right)


def test_a_run_ends_where_its_document_or_row_ends():
    ids = np.full((2, 4), 10, dtype=np.int32)
    rows = Blocks(ids, np.ones((2, 4), dtype=np.bool_), np.array([[1, 1, 2, 2]] * 2, dtype=np.int32), np.arange(2), 0)
    corrupted = policy.corrupt(rows, policy_named("span", 1.0), VOCABULARY, seed=0)
    assert corrupted.edges.tolist() == [[-1, 2], [-1, 2], [1, 4], [1, 4]] * 2


@pytest.mark.parametrize(
    "name, settings", [("span", {"p": 1.0}), ("span", {"longest": 0}), ("ngram", {"weights": [1.0]})]
)
def test_lengths_that_cannot_be_are_one_clear_line(name, settings):
    with pytest.raises(BadInput, match=r"longest|weights"):
        policy.corrupt(batch(), policy_named(name, **settings), VOCABULARY, seed=0)


def test_an_unspaced_word_longer_than_the_row_is_one_unit():
    rows = batch(rows=100, length=32, kind="one endless word")
    corrupted = policy.corrupt(rows, policy_named("word", 0.15), VOCABULARY, seed=0)
    assert set(corrupted.hidden.sum(axis=1).tolist()) == {0, 30}
