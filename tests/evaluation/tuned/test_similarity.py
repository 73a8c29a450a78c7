"""Correlations are scipy's, with intervals that know groups; baselines know what words tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from unmask.evaluation.tuned.similarity import baseline_cosines, farthest_off, judged_pairs, word_overlap
from unmask.intervals import bootstrap_figure
from unmask.tasks.similarity.scored import PairFields, ScoredPair, ScoredPairs


def pairs_of(*rows: tuple[str, str, float]) -> ScoredPairs:
    examples = tuple(ScoredPair(line, *row) for line, row in enumerate(rows, start=2))
    return ScoredPairs(Path("pairs.tsv"), PairFields("a", "b", "score"), examples)


def test_a_rank_correlation_lies_in_its_interval_which_is_wider_for_groups() -> None:
    draw = np.random.default_rng(0)
    true = np.repeat(draw.random(60), 4)
    said = true + np.repeat(draw.normal(size=60), 4)

    def statistic(numbers: np.ndarray) -> float:
        return float(spearmanr(said[numbers], true[numbers]).statistic)

    alone, grouped = (bootstrap_figure(each, statistic) for each in (np.arange(240), np.repeat(np.arange(60), 4)))
    assert alone.value == grouped.value == pytest.approx(spearmanr(said, true).statistic)
    assert alone.low < alone.value < alone.high
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)


def test_baselines_take_texts_of_the_same_words_to_be_alike(make_model: Callable[..., Path]) -> None:
    train = pairs_of(("the cat sees the dog", "the river", 1.0), ("the garden", "a bridge and the sea", 2.0))
    test = pairs_of(("the cat sees", "the cat sees", 5.0), ("the cat", "the river", 1.0), ("a dog", "garden", 0.0))
    said = baseline_cosines(make_model(), train, test)
    assert [*said] == ["word overlap", "TF-IDF", "frozen vectors", "frozen vectors, whitened"]
    for cosines in said.values():
        assert cosines[0] == pytest.approx(1.0, abs=1e-5) and cosines[0] > cosines[1] and cosines[0] > cosines[2]
    assert said["word overlap"][1] == pytest.approx(1 / 3) and said["TF-IDF"][2] == 0
    assert word_overlap("!", "?") == 0


def test_the_pairs_that_are_farthest_off_come_first() -> None:
    pairs = pairs_of(("a", "b", 1.0), ("c", "d", 2.0), ("e", "f", 3.0), ("g", "h", 4.0))
    errors = farthest_off(pairs, np.array([0.1, 0.2, 0.9, 0.0]), np.zeros(4))
    assert (errors[0].line, errors[0].true, errors[0].off) == (5, 4.0, 0.75)


@pytest.mark.parametrize(("leaked", "clean"), [(0, False), (1, True), (2, False), (4, False)])
def test_without_what_leaked_there_is_a_figure_where_enough_pairs_are_left(leaked: int, clean: bool) -> None:
    pairs = pairs_of(("a", "b", 1.0), ("c", "d", 2.0), ("e", "f", 3.0), ("g", "h", 4.0))
    judged = judged_pairs(pairs, pairs.scores, pairs.scores, {}, np.arange(4) < leaked)
    assert judged.spearman.value == pytest.approx(1.0) and judged.leaked == leaked
    assert (judged.clean_spearman is not None) == (judged.clean_pearson is not None) == clean


def test_one_pair_has_no_order() -> None:
    pair = pairs_of(("a", "b", 1.0))
    assert judged_pairs(pair, pair.scores, pair.scores, {}, np.zeros(1, np.bool_)).spearman.value == 0.0
