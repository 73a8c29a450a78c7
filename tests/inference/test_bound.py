from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.inference.bound import bound_rows
from unmask.inference.passages import Passage, read_passages
from unmask.inference.score import Scorer, ScoreSettings
from unmask.models.load import LoadedModel, load_model
from unmask.tokens.windows import read_windows

Make = Callable[..., Path]


@pytest.fixture
def loaded(make_model: Make) -> LoadedModel:
    return load_model(make_model())


def exact_bound(lm: LoadedModel, ids: list[int]) -> float:
    """The expectation, all subsets of all sizes written out."""
    total, count = 0.0, len(ids)
    for size in range(1, count + 1):
        sums = []
        for hidden in combinations(range(count), size):
            row = [lm.vocabulary.mask if place in hidden else token for place, token in enumerate(ids)]
            with torch.no_grad():
                logits = lm.model(torch.tensor([[lm.vocabulary.start, *row, lm.vocabulary.end]])).logits[0, 1:-1]
            logits[:, lm.vocabulary.mask] = -torch.inf
            values = logits.log_softmax(-1)
            sums.append(sum(float(values[place, ids[place]]) for place in hidden))
        total += count / size * float(np.mean(sums)) / count
    return total


def test_the_bound_is_its_expectation_within_its_error(loaded: LoadedModel) -> None:
    text = "the dog hears music"
    (passage,) = read_passages(loaded, [text])
    assert isinstance(passage, Passage)
    expected = exact_bound(loaded, passage.ids.tolist())
    (scored,) = Scorer(loaded, "bound").score([text], ScoreSettings(draws=2000))
    assert not isinstance(scored, Exception) and scored.error is not None
    assert abs(scored.score - expected) < 4 * scored.error + 1e-3
    (few,) = Scorer(loaded, "bound").score([text], ScoreSettings(draws=20))
    assert not isinstance(few, Exception) and few.error is not None and few.error > scored.error


def test_every_share_is_hidden_alike_and_weights_are_those_of_the_bound(loaded: LoadedModel) -> None:
    (passage,) = read_passages(loaded, ["the dog hears music in winter"], prefix="My sister says")
    assert isinstance(passage, Passage)
    reading = read_windows(len(passage.ids), None)
    rows = list(bound_rows(0, passage, reading, loaded.vocabulary, draws=60))
    count = passage.last - passage.first
    assert np.bincount([len(row.asked) for row in rows])[1:].tolist() == [60 // count] * count
    for row in rows:
        assert row.weight == pytest.approx(count / len(row.asked) / 60)
        assert row.places.min() >= passage.first  # what stands before is in sight
        assert (row.ids[row.asked] == loaded.vocabulary.mask).all()
        assert (row.ids == loaded.vocabulary.mask).sum() == len(row.asked)


def test_texts_of_one_length_are_compared_on_the_same_masks(loaded: LoadedModel) -> None:
    (passage,) = read_passages(loaded, ["the dog likes music"])
    assert isinstance(passage, Passage)
    places = []
    for other in (passage, replace(passage, ids=passage.ids[::-1].copy())):
        reading = read_windows(len(other.ids), None)
        places.append([row.places.tolist() for row in bound_rows(0, other, reading, loaded.vocabulary)])
    assert places[0] == places[1]
