"""Laws of learning a Unigram vocabulary, against a count of every way to cut a word."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from unmask.tokens.tokenizer.unigram import Lattices, learn

WORDS = {"▁the": 30, "▁them": 6, "▁then": 4, "▁hem": 3, "▁ten": 5}


def every_cut(word: str) -> list[list[str]]:
    places = range(1, len(word))
    cuts = [[0, *cut, len(word)] for count in range(len(word)) for cut in combinations(places, count)]
    return [[word[begin:end] for begin, end in pairwise(cut)] for cut in cuts]


def test_expected_counts_are_those_of_all_cuts_weighted_by_their_probability() -> None:
    pieces = sorted({*"▁themn", "th", "the", "▁the", "he", "en", "em", "▁t"})
    probabilities = np.random.default_rng(0).dirichlet(np.ones(len(pieces)))
    of_piece = dict(zip(pieces, probabilities, strict=True))
    expected = dict.fromkeys(pieces, 0.0)
    for word, count in WORDS.items():
        cuts = [cut for cut in every_cut(word) if all(piece in of_piece for piece in cut)]
        weights = np.array([np.prod([of_piece[piece] for piece in cut]) for cut in cuts])
        for cut, weight in zip(cuts, count * weights / weights.sum(), strict=True):
            for piece in cut:
                expected[piece] += weight
    lattices = Lattices.of(list(WORDS), pieces)
    found = lattices.expected_counts(probabilities, np.array([float(count) for count in WORDS.values()]))
    np.testing.assert_allclose(found, list(expected.values()), rtol=1e-12)


def test_a_frequent_word_is_a_piece_though_no_other_word_contains_it() -> None:
    candidates = {"▁that", "that", "▁th", "at", *"▁thatcsm"}
    pieces = dict(learn({"▁that": 100, "▁cat": 2, "▁mats": 2}, candidates, size=9))
    assert "▁that" in pieces
    assert pieces["▁that"] == max(pieces.values())


def test_characters_stay_and_the_size_is_kept() -> None:
    candidates = {word[begin:end] for word in WORDS for begin in range(5) for end in range(begin + 1, 6)} - {""}
    characters = set("".join(WORDS))
    for size in (len(characters), len(characters) + 3):
        pieces = learn(WORDS, candidates, size)
        assert len(pieces) == size
        assert characters <= {piece for piece, _ in pieces}
        assert [score for _, score in pieces] == sorted((score for _, score in pieces), reverse=True)


def test_scores_are_log_probabilities() -> None:
    pieces = learn(WORDS, {"▁the", "▁t", "em", "en", *"▁themn"}, size=8)
    assert np.exp([score for _, score in pieces]).sum() == pytest.approx(1, abs=1e-3)


def test_a_clause_without_spaces_is_learnt_from_in_stretches() -> None:
    clause = "ab" * 100
    pieces = dict(learn({clause: 50}, {"ab", "abab", "a", "b"}, size=4))
    assert pieces["abab"] > pieces["a"]


def test_the_order_of_the_words_does_not_matter() -> None:
    candidates = ["▁the", "▁t", "em", "en", *"▁themn"]
    turned = dict(reversed(WORDS.items()))
    assert learn(WORDS, candidates, 9) == learn(turned, candidates[::-1], 9)
