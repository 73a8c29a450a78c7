"""Measures are trec's, and equal to their formulas written out."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from unmask.tasks.retrieve.measures import measure_rankings


def by_hand(grades: dict[str, int], ranking: list[str]) -> tuple[float, float, float]:
    gains = [max(0, grades.get(name, 0)) for name in ranking]
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)

    def discounted(values: list[int]) -> float:
        return sum(gain / log2(place + 2) for place, gain in enumerate(values[:10]))

    first = next((place for place, gain in enumerate(gains[:10], 1) if gain > 0), None)
    found = sum(gain > 0 for gain in gains[:100]) / len(ideal)
    return discounted(gains) / discounted(ideal), 0.0 if first is None else 1 / first, found


def test_measures_are_their_formulas() -> None:
    draw = np.random.default_rng(0)
    names = [f"d{n}" for n in range(300)]
    grades, rankings = [], []
    for _ in range(40):
        judged = {names[n]: int(draw.integers(0, 4)) for n in draw.choice(300, 30, replace=False)}
        grades.append({**judged, names[0]: 2})
        rankings.append([names[n] for n in draw.permutation(300)[: draw.integers(0, 300)]])
    found = measure_rankings(grades, rankings)
    expected = np.array([by_hand(*each) for each in zip(grades, rankings, strict=True)])
    for column, name in enumerate(("ndcg_10", "mrr_10", "recall_100")):
        assert found[name] == pytest.approx(expected[:, column], abs=1e-9)
