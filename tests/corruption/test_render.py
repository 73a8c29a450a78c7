import dataclasses

import numpy as np
import pytest
from corruption_cases import MASK, VOCABULARY, batch
from scipy import stats

from unmask.corruption import policy
from unmask.corruption.policy import policy_named
from unmask.corruption.render import REPLACEMENTS
from unmask.errors import BadInput
from unmask.randomness import Draws

ROWS = batch(rows=64, length=512, kind="wordpiece")


def kinds(corrupted):
    shown = corrupted.ids[corrupted.hidden]
    masked, kept = shown == MASK, shown == corrupted.targets
    return masked, ~masked & ~kept, kept


@pytest.mark.parametrize("mask, random", [(0.8, 0.1), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.5, 0.25)])
def test_the_split_is_the_asked_one(mask, random):
    corrupted = policy.corrupt(ROWS, policy_named("token", 0.5, mask=mask, random=random), VOCABULARY, seed=0)
    shares = [kind.mean() for kind in kinds(corrupted)]
    error = 5 * 0.5 / np.sqrt(len(corrupted.targets))
    for share, asked in zip(shares, (mask, random, 1 - mask - random), strict=True):
        assert share == asked if asked in (0.0, 1.0) else abs(share - asked) < error


def test_a_random_replacement_is_any_other_ordinary_token_equally_often():
    small = dataclasses.replace(VOCABULARY, size=25, special=(0, 1, 2, 3, 4, 9, 24))
    originals = np.full(180_000, 12, dtype=np.int32)
    draw = np.random.default_rng(0).random(len(originals))
    counts = np.bincount(REPLACEMENTS["uniform"](originals, draw, small), minlength=25)
    others = np.setdiff1d(small.ordinary, [12])
    assert counts.sum() == counts[others].sum()
    assert stats.chisquare(counts[others]).pvalue > 0.001


def test_a_replacement_by_frequency_follows_the_corpus():
    weights = np.array([50, 50, 50, 50, 50, 10, 0, 30, 60, 5], dtype=np.int64)
    small = dataclasses.replace(VOCABULARY, size=10, special=(0, 1, 2, 3, 4), counts=weights)
    originals = np.full(100_000, 7, dtype=np.int32)
    draw = np.random.default_rng(0).random(len(originals))
    counts = np.bincount(REPLACEMENTS["frequency"](originals, draw, small), minlength=10)
    others = np.array([5, 8, 9])
    assert counts.sum() == counts[others].sum()
    expected = weights[others] / weights[others].sum() * len(originals)
    assert stats.chisquare(counts[others], expected).pvalue > 0.001


def test_where_the_corpus_has_only_the_original_the_replacement_is_uniform():
    small = dataclasses.replace(VOCABULARY, size=8, special=(0, 1, 2, 3, 4), counts=np.array([0, 0, 0, 0, 0, 0, 9, 0]))
    drawn = REPLACEMENTS["frequency"](np.full(1000, 6, dtype=np.int32), np.linspace(0, 0.999, 1000), small)
    assert set(drawn.tolist()) == {5, 7}


def test_a_vocabulary_of_one_token_has_nothing_else_to_show_than_the_mask():
    small = dataclasses.replace(VOCABULARY, size=6, special=(0, 1, 2, 3, 4))
    assert REPLACEMENTS["uniform"](np.array([5], dtype=np.int32), np.array([0.3]), small).tolist() == [MASK]


def test_frequency_without_a_corpus_is_one_clear_line():
    bare = dataclasses.replace(VOCABULARY, counts=None)
    with pytest.raises(BadInput, match="needs token counts of a corpus"):
        policy.corrupt(ROWS, policy_named("token", replacement="frequency"), bare, seed=0)


def test_replacements_are_never_special_and_never_the_original():
    for way in REPLACEMENTS:
        corrupted = policy.corrupt(
            ROWS, policy_named("token", 1.0, mask=0, random=1, replacement=way), VOCABULARY, seed=1
        )
        assert not VOCABULARY.is_special[corrupted.ids[corrupted.hidden]].any()
        assert (corrupted.ids[corrupted.hidden] != corrupted.targets).all()


def test_draws_of_a_block_do_not_depend_on_its_batch():
    whole = Draws.of(5, 2, np.arange(10)).keys
    assert Draws.of(5, 2, np.array([7, 3])).keys.tolist() == whole[[7, 3]].tolist()
