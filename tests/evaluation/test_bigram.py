from collections import Counter

import numpy as np
import pytest

from unmask.errors import BadInput
from unmask.evaluation import bigram
from unmask.evaluation.bigram import NONE, BigramModel
from unmask.records import Vocabulary
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.shards import Shards

SIZE, SPECIAL = 14, (0, 1, 2)
VOCABULARY = Vocabulary(size=SIZE, mask=0, pad=1, start=2, end=2, special=SPECIAL)
ORDINARY = [token for token in range(SIZE) if token not in SPECIAL]


def text(length=600, seed=0):
    """Tokens that depend on the one before, some of the vocabulary never among them."""
    rng = np.random.default_rng(seed)
    ids = [5]
    for _ in range(length):
        ids.append(int(rng.choice([(ids[-1] * 3) % 8 + 3, (ids[-1] + 1) % 8 + 3, int(rng.integers(3, 12))])))
    return np.array(ids, dtype=np.int32)


def model_of(ids):
    return BigramModel.counted(ids[:-1], ids[1:], ids, VOCABULARY)


def discount_of(counts):
    tally = Counter(counts)
    return tally[1] / (tally[1] + 2 * tally[2]) if tally[1] and tally[2] else 0.5


def smoothed(counts):
    """Σ 1: absolute discounting down to all ordinary tokens alike, one token at a time."""
    discount, total = discount_of(counts.values()), sum(counts.values())
    spared = discount * len(counts) / len(ORDINARY)
    return {token: (max(counts.get(token, 0) - discount, 0) + spared) / total for token in ORDINARY}


def written_out(ids):
    """p(x | l) of interpolated Kneser–Ney and u(x), from the formula, with dictionaries."""
    pairs = Counter(zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True))
    discount = discount_of(pairs.values())
    continuation = smoothed(Counter(right for _, right in pairs))
    chances = {}
    for left in ORDINARY:
        total = sum(count for (before, _), count in pairs.items() if before == left)
        followers = sum(before == left for before, _ in pairs)
        for right in ORDINARY:
            if not total:
                chances[left, right] = continuation[right]
                continue
            kept = max(pairs[left, right] - discount, 0) / total
            chances[left, right] = kept + discount * followers / total * continuation[right]
    return chances, smoothed(Counter(ids.tolist()))


@pytest.mark.parametrize("entries", [1, bigram.ENTRIES])
def test_bits_are_those_of_the_conditional_written_out_and_normalised_over_the_vocabulary(entries, monkeypatch):
    monkeypatch.setattr(bigram, "ENTRIES", entries)  # in chunks of one pair, and all at once
    ids = text()
    model, (chances, unigram) = model_of(ids), written_out(ids)
    places = [NONE, *ORDINARY]
    for left in places:
        for right in places:
            weights = np.array(
                [
                    (unigram[token] if left == NONE else chances[left, token])
                    * (1 if right == NONE else chances[token, right])
                    for token in ORDINARY
                ]
            )
            expected = -np.log2(weights / weights.sum())
            count = len(ORDINARY)
            found = model.bits(np.array(ORDINARY), np.full(count, left), np.full(count, right))
            assert found == pytest.approx(expected, abs=1e-9), (left, right)
            assert (2**-found).sum() == pytest.approx(1)


def test_every_token_follows_every_other_with_some_probability_and_special_ones_with_none():
    model = model_of(text())
    for left in ORDINARY:
        chances = model.transition(np.full(SIZE, left), np.arange(SIZE))
        assert chances.sum() == pytest.approx(1)
        assert (chances[ORDINARY] > 0).all() and (chances[list(SPECIAL)] == 0).all()
    assert model.unigram.sum() == pytest.approx(1) and (model.unigram[list(SPECIAL)] == 0).all()


def test_two_steps_are_summed_over_all_that_can_stand_between():
    model = model_of(text(seed=1))
    table = np.array([model.transition(np.full(SIZE, left), np.arange(SIZE)) for left in range(SIZE)])
    left, right = np.repeat(ORDINARY, len(ORDINARY)), np.tile(ORDINARY, len(ORDINARY))
    assert model.two_steps(left, right) == pytest.approx((table @ table)[left, right])


def test_what_always_stands_between_two_tokens_costs_next_to_nothing_and_more_where_they_are_hidden():
    ids = np.tile(np.array([4, 5, 6, 7], dtype=np.int32), 500)
    model = model_of(ids)
    both, left, none = (
        model.bits(np.array([5]), np.array([before]), np.array([after]))[0]
        for before, after in ((4, 6), (4, NONE), (NONE, NONE))
    )
    assert both < 0.01 and left < 0.02 and none == pytest.approx(2, abs=0.01)
    assert model.unigram_bits(np.array([5]))[0] == none


def test_pairs_are_of_one_document_and_a_large_split_is_sampled(data, monkeypatch):
    dataset = Dataset.open(data)
    stream, vocabulary = dataset.split("train"), dataset.vocabulary
    whole = BigramModel.of(stream, vocabulary)
    ids, _ = stream.read(0, stream.tokens)
    ordinary = ~vocabulary.is_special[ids]
    assert whole.tokens == int(ordinary.sum())
    inside = np.ones(len(ids) - 1, dtype=bool)
    inside[stream.ends[:-1] - 1] = False  # from one document into the next
    inside &= ordinary[:-1] & ordinary[1:]
    pairs = np.unique(ids[:-1][inside].astype(np.int64) * vocabulary.size + ids[1:][inside])
    assert whole.discounted.nnz == len(pairs)
    monkeypatch.setattr(bigram, "SAMPLE", 1000)
    assert 900 < BigramModel.of(stream, vocabulary).tokens <= 1000


def test_nothing_to_count_is_one_clear_line(tmp_path):
    with pytest.raises(BadInput, match="no tokens to count"):
        BigramModel.of(Shards(tmp_path), VOCABULARY)
