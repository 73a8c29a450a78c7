"""Hard negatives look like answers, are none, and are not so near that they may be."""

from __future__ import annotations

import numpy as np

from unmask.tasks.retrieve.mining import hard_documents, mine_candidates, mine_negatives, word_scores

DOCUMENTS = ["wing flutter at speed", "wing flutter", "wing of a bird", "bread", "flutter of wing at high speed now"]
QUERIES = ["wing flutter at speed"]


def test_neither_an_answer_nor_what_scores_nearly_as_well_is_a_negative() -> None:
    (scores,) = word_scores(QUERIES, DOCUMENTS)
    negatives = mine_negatives(np.array([[0, 0]]), QUERIES, DOCUMENTS, 5)[0].tolist()
    assert negatives == [n for n in np.argsort(-scores).tolist() if 0 < scores[n] <= 0.95 * scores[0]] + [-1] * 2
    assert mine_negatives(np.array([[0, 0], [0, 1]]), QUERIES, DOCUMENTS, 5).tolist()[0].count(1) == 0
    assert hard_documents(np.array([-1.0, -1.02, -2.0]), 0, {0}).tolist() == []


def test_words_and_a_model_take_turns() -> None:
    vectors = np.eye(5, dtype=np.float32) * 0.5 + 0.5
    vectors[3] = vectors[0] * 0.2 + vectors[3] * 0.8  # near to the answer by the model alone
    pairs = np.array([[0, 0]])
    by_words = mine_negatives(pairs, QUERIES, DOCUMENTS, 2)[0].tolist()
    both = mine_negatives(pairs, QUERIES, DOCUMENTS, 2, (vectors[:1], vectors))[0].tolist()
    assert both[0] == by_words[0] and both[1] == 3
    assert mine_negatives(pairs, QUERIES, DOCUMENTS, 0).shape == (1, 0)


def test_candidates_are_spread_over_what_is_found_and_never_answer() -> None:
    documents = [f"wing {'flutter ' * (number % 7)}{'bread ' * number}" for number in range(150)]
    pairs = np.array([[0, 4], [0, 9]])
    (scores,) = word_scores(["wing flutter"], documents)
    ranked = [n for n in np.argsort(-scores, kind="stable")[:100].tolist() if n not in (4, 9)]
    candidates = mine_candidates(pairs, ["wing flutter"], documents, 7)
    for row in candidates.tolist():
        places = [ranked.index(number) for number in row]
        assert places == sorted(set(places)) and np.diff(places).min() >= 12 and np.diff(places).max() <= 16
    assert mine_candidates(np.array([[0, 0]]), ["wing"], ["wing", "wings", ""], 4).tolist() == [[1, -1, -1, -1]]
