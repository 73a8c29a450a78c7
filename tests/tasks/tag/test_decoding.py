"""The likeliest well-formed tags, and the probability of an entity, against all sequences written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from unmask.tasks.tag.decoding import TagDecoder
from unmask.tasks.tag.schemes import WordSpan, strict_spans


def well_formed(tags: tuple[str, ...]) -> bool:
    before = ("O", *tags)
    return all(tag[0] != "I" or before[n] in (f"B-{tag[2:]}", tag) for n, tag in enumerate(tags))


@pytest.mark.parametrize("seed", range(5))
def test_decoding_is_the_best_of_all_well_formed_sequences(seed: int) -> None:
    decoder = TagDecoder(["x", "y"])
    shares = np.random.default_rng(seed).dirichlet(np.full(5, 0.5), size=5)
    every = {
        tags: float(np.prod([shares[n, decoder.tags.index(tag)] for n, tag in enumerate(tags)]))
        for tags in product(decoder.tags, repeat=5)
        if well_formed(tags)
    }
    best = max(every, key=lambda tags: every[tags])
    assert [decoder.tags[number] for number in decoder.best_tags(shares)] == list(best)
    spans = {span for tags in every for span in strict_spans(tags)}
    total = sum(every.values())
    expected = [sum(p for tags, p in every.items() if span in strict_spans(tags)) / total for span in sorted(spans)]
    assert decoder.sureness(shares, sorted(spans)) == pytest.approx(expected)


def test_tags_that_are_ill_formed_alone_are_well_formed_together() -> None:
    decoder = TagDecoder(["x"])
    shares = np.array([[0.4, 0.1, 0.5], [0.1, 0.1, 0.8]])  # alone I-x I-x
    assert decoder.decode(shares) == [WordSpan(0, 2, "x")]  # 0.1 · 0.8 against 0.4 · 0.1
    assert decoder.decode(np.array([[0.9, 0.05, 0.05], [0.3, 0.2, 0.5]])) == []


def test_a_text_without_words_and_impossible_shares_are_borne() -> None:
    decoder = TagDecoder(["x"])
    assert decoder.decode(np.zeros((0, 3))) == [] and decoder.sureness(np.zeros((0, 3)), []) == []
    sure = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert all(0 <= share <= 1 for share in decoder.sureness(sure, [WordSpan(0, 1, "x")]))
