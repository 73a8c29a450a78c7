"""Span corruption as T5 does it: worked by hand, and against a loop."""

import dataclasses

import numpy as np
import pytest
from corruption_cases import CLS, PAD, SEP, SIZE, VOCABULARY, batch, batches, law, rates
from scipy import stats

from unmask.corruption import policy, select, units
from unmask.corruption.policy import policy_named
from unmask.corruption.sentinels import replace_by_sentinels
from unmask.errors import BadInput
from unmask.randomness import Draws
from unmask.records import Blocks

FIRST, SECOND, THIRD = SIZE - 1, SIZE - 2, SIZE - 3  # descending from the top of the vocabulary
NOTHING = Draws.of(0, 0, np.arange(1))


def rendered(ids, hidden, documents=None):
    grid = np.array([ids], dtype=np.int32)
    owner = np.ones_like(grid) if documents is None else np.array([documents], dtype=np.int32)
    blocks = Blocks(grid, np.ones_like(grid, dtype=np.bool_), owner, np.arange(1), 0)
    each = units.tokens(blocks, VOCABULARY, NOTHING)
    flags = np.array([hidden], dtype=np.bool_).ravel()[each.positions]
    corrupted = replace_by_sentinels(blocks, each, flags, VOCABULARY, NOTHING)
    assert policy.restore(corrupted).tolist() == grid.tolist()
    return corrupted


def test_the_example_of_the_paper():
    #      Thank you for inviting me to your party last week
    ids = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
    corrupted = rendered(ids, [0, 0, 1, 1, 0, 0, 0, 0, 1, 0])
    assert corrupted.ids.tolist() == [[10, 11, FIRST, 14, 15, 16, 17, SECOND, 19, PAD]]
    assert corrupted.answer.ids.tolist() == [[FIRST, 12, 13, SECOND, 18, SEP]]
    assert corrupted.documents.tolist() == [[1, 1, 1, 1, 1, 1, 1, 1, 1, 0]]


def test_a_hidden_head_and_tail():
    corrupted = rendered([10, 11, 12, 13], [1, 0, 0, 1])
    assert corrupted.ids.tolist() == [[FIRST, 11, 12, SECOND]]
    assert corrupted.answer.ids.tolist() == [[FIRST, 10, SECOND, 13, SEP]]


def test_packed_documents_are_examples_of_their_own():
    ids, owner = [CLS, 10, 11, SEP, CLS, 12, 13, SEP, PAD], [1, 1, 1, 1, 2, 2, 2, 2, 0]
    corrupted = rendered(ids, [0, 0, 1, 0, 0, 1, 1, 0, 0], owner)
    assert corrupted.ids.tolist() == [[CLS, 10, FIRST, SEP, CLS, FIRST, SEP, PAD, PAD]]
    assert corrupted.documents.tolist() == [[1, 1, 1, 1, 2, 2, 2, 0, 0]]
    assert corrupted.answer.ids.tolist() == [[FIRST, 11, SEP, FIRST, 12, 13, SEP]]
    assert corrupted.answer.documents.tolist() == [[1, 1, 1, 2, 2, 2, 2]]


def by_loop(ids, hidden, documents):
    """T5's rendering of one row, token by token."""
    shown, answer, used, before, owner = [], [], 0, False, None
    for token, is_hidden, document in zip(ids, hidden, documents, strict=True):
        if is_hidden:
            if owner != document:
                answer += [SEP] if answer else []
                used, before = 0, False
            if not before:
                shown.append(SIZE - 1 - used)
                answer.append(SIZE - 1 - used)
                used += 1
            owner = document
            answer.append(int(token))
        else:
            shown.append(int(token))
        before = is_hidden
    return shown, answer + ([SEP] if answer else [])


@law(rows=batches(longest=128), rate=rates)
def test_rows_and_answers_are_those_of_a_loop(rows, rate):
    corrupted = policy.corrupt(rows, policy_named("sentinel", rate), VOCABULARY, seed=0)
    width = rows.ids.shape[1]
    for line in range(len(rows.ids)):
        shown, answer = by_loop(rows.ids[line], corrupted.hidden[line], rows.documents[line])
        assert corrupted.ids[line].tolist() == shown + [PAD] * (width - len(shown))
        told = corrupted.answer.ids[line]
        assert told.tolist() == answer + [PAD] * (len(told) - len(answer))


def segmented(tokens, trials, rate=0.15, **settings):
    each = units.tokens(batch(rows=trials, length=tokens, edges=False), VOCABULARY, NOTHING)
    flags = select.random_segmentation(each, rate, Draws.of(0, 0, np.arange(trials)), **settings)
    return flags.reshape(trials, tokens)


@pytest.mark.parametrize("tokens, noise, spans", [(512, 77, 26), (100, 15, 5), (10, 2, 1), (4, 1, 1), (2, 1, 1)])
def test_unrolled_the_numbers_of_tokens_and_spans_are_those_of_t5(tokens, noise, spans):
    hidden = segmented(tokens, 50, rolled=False)
    begins = np.diff(hidden.astype(int), axis=1, prepend=0) == 1
    assert (hidden.sum(axis=1) == noise).all() and (begins.sum(axis=1) == spans).all()
    assert hidden[:, -1].all() and not hidden[:, 0].any()


def test_every_way_to_cut_is_equally_likely():
    # 8 tokens, 4 hidden in 2 spans: 3 ways to cut what is shown × 3 ways to cut what is hidden.
    hidden = segmented(8, 9000, rate=0.5, mean=2.0, rolled=False)
    _, counts = np.unique(hidden, axis=0, return_counts=True)
    assert len(counts) == 9
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("tokens", [7, 30, 200])
def test_rolled_no_position_is_favoured_and_the_rate_does_not_drift(tokens):
    hidden = segmented(tokens, 20_000)
    share = hidden.mean(axis=0)
    assert np.abs(share - share.mean()).max() < 6 * np.sqrt(0.15 / len(hidden))
    assert abs(share.mean() - 0.15) < 3 * np.sqrt(0.15 / len(hidden) / tokens)


@law(rows=batches(), rate=rates)
def test_a_row_is_within_one_token_of_the_rate(rows, rate):
    hidden = policy.corrupt(rows, policy_named("sentinel", rate), VOCABULARY, seed=2).hidden.sum(axis=1)
    asked = rate * units.eligible(rows, VOCABULARY).sum(axis=1)
    assert (np.abs(hidden - asked) <= 1 + 1e-6).all()


def test_no_sentinels_is_one_clear_line():
    bare = dataclasses.replace(VOCABULARY, sentinels=())
    with pytest.raises(BadInput, match="no sentinels"):
        policy.corrupt(batch(), policy_named("sentinel"), bare, seed=0)


def test_too_few_sentinels_is_one_clear_line_with_both_numbers():
    few = dataclasses.replace(VOCABULARY, sentinels=VOCABULARY.sentinels[:3])
    with pytest.raises(BadInput, match="a row has 10 hidden spans and the tokenizer 3 sentinels"):
        policy.corrupt(batch(rows=1, length=202), policy_named("sentinel", rolled=False), few, seed=0)


def test_a_mean_below_one_is_one_clear_line():
    with pytest.raises(BadInput, match=r"mean 0\.5"):
        policy.corrupt(batch(), policy_named("sentinel", mean=0.5), VOCABULARY, seed=0)
