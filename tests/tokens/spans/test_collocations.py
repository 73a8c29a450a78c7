import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from unmask.tokens.spans import collocations
from unmask.tokens.spans.collocations import mine_collocations

BREAK = 0


class Text:
    """A stream of one-token words, in documents."""

    def __init__(self, documents, words=None):
        self.ids = np.concatenate([np.asarray(each, dtype=np.int32) for each in documents])
        self.ends = np.cumsum([len(each) for each in documents])
        self.starts = np.ones(len(self.ids), dtype=np.bool_) if words is None else np.concatenate(words)

    def read(self, start, stop):
        return self.ids[start:stop].copy(), self.starts[start:stop].copy()


def documents(seed=0, count=60):
    """Random words 1 to 30, with 'seven eight nine' and 'four five' put in often."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(count):
        words = rng.choice(31, size=80, p=np.r_[0.05, np.full(30, 0.95 / 30)]).tolist()
        for place in sorted(rng.choice(80, 6, replace=False), reverse=True):
            words[place:place] = [7, 8, 9] if rng.random() < 0.5 else [4, 5]
        result.append(words)
    return result


def counted(texts, longest):
    counts = Counter()
    for words in texts:
        for size in range(1, longest + 1):
            for begin in range(len(words) - size + 1):
                gram = tuple(words[begin : begin + size])
                if size == 1 or BREAK not in gram:
                    counts[gram] += 1
    return counts


def splits(gram):
    for cuts in range(1, 2 ** (len(gram) - 1)):
        edges = [0, *(n + 1 for n in range(len(gram) - 1) if cuts >> n & 1), len(gram)]
        yield [gram[a:b] for a, b in pairwise(edges)]


def by_hand(texts, longest, least):
    """The definition, word by word: every n-gram, every split."""
    counts = counted(texts, longest)
    total = sum(count for gram, count in counts.items() if len(gram) == 1 and count > least)
    share = {gram: math.log(count / total) for gram, count in counts.items()}
    return {
        gram: (count, min(2 * share[gram] - sum(share[part] for part in split) for split in splits(gram)))
        for gram, count in counts.items()
        if len(gram) > 1 and count > least
    }


@pytest.mark.parametrize("chunk", [1 << 20, 500])
def test_counts_and_scores_are_those_of_the_definition(monkeypatch, chunk):
    monkeypatch.setattr(collocations, "CHUNK", chunk)
    monkeypatch.setattr(collocations, "FRAGMENT", 0)
    texts = documents()
    breaks = np.arange(31) == BREAK
    found = mine_collocations(Text(texts), breaks, max_words=4, min_count=5, above=-math.inf, top=1000).collocations
    expected = by_hand(texts, 4, 5)
    got = {tuple(word[0] for word in one.words): (one.count, one.score) for one in found}
    assert got.keys() == expected.keys()
    for gram, (count, score) in expected.items():
        assert got[gram] == (count, pytest.approx(score, abs=1e-4))
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_what_belongs_together_comes_first_and_its_parts_do_not():
    found = mine_collocations(Text(documents()), np.arange(31) == BREAK, min_count=5).collocations
    assert [tuple(word[0] for word in one.words) for one in found[:2]] == [(7, 8, 9), (4, 5)]


def test_a_collocation_crosses_no_document():
    texts = [[1, 2]] * 30 + [[3, 1]] * 30
    mined = mine_collocations(Text(texts), np.arange(31) == BREAK)
    grams = {tuple(word[0] for word in one.words) for one in mined.collocations}
    assert grams == {(1, 2), (3, 1)}


def test_words_of_several_tokens_stay_words():
    starts = [np.array([True, False, True])] * 20
    (found,) = mine_collocations(Text([[5, 6, 7]] * 20, starts), np.arange(31) == BREAK).collocations
    assert found.words == ((5, 6), (7,)) and found.count == 20 and found.score == pytest.approx(math.log(2 * 2 / 4) * 1)


def test_too_little_text_has_no_collocations():
    assert mine_collocations(Text([[1, 2, 3]]), np.arange(31) == BREAK).collocations == []


def test_the_list_stops_where_words_shuffled_by_chance_would_score_as_much():
    rng = np.random.default_rng(1)
    shares = np.r_[0.05, 0.3, 0.15, np.full(28, 0.5 / 28)]
    shuffled = [rng.choice(31, size=400, p=shares).tolist() for _ in range(60)]
    breaks = np.arange(31) == BREAK
    mined = mine_collocations(Text(shuffled), breaks)
    assert mined.above == mined.chance == pytest.approx(2 * math.log(0.3), abs=0.05)
    everything = mine_collocations(Text(shuffled), breaks, above=-math.inf).collocations
    assert len(everything) > 500 and len(mined.collocations) <= 1  # "1 1" itself may lie a little above


def test_a_score_and_a_number_of_one_s_own_stop_the_list():
    breaks = np.arange(31) == BREAK
    every = mine_collocations(Text(documents()), breaks, min_count=5, above=-math.inf).collocations
    middle = every[len(every) // 2].score
    some = mine_collocations(Text(documents()), breaks, min_count=5, above=middle)
    assert some.above == middle and 0 < len(some.collocations) < len(every)
    assert all(one.score >= middle for one in some.collocations)
    assert mine_collocations(Text(documents()), breaks, min_count=5, above=middle, top=3).collocations == every[:3]
