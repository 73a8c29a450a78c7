"""Planted leaks are found, and texts that share a subject only are not."""

from __future__ import annotations

import random

import numpy as np
import pytest

from unmask.corpus.overlap import NEAR, Runs, exact_texts, near_texts
from unmask.words import spelt_words

WORDS = [
    f"{a}{b}" for a in ("ka", "lo", "mi", "ne", "ru", "so", "ta", "vi") for b in ("ban", "der", "fil", "gos", "tem")
]


def sentence(draw: random.Random, count: int) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(count)).capitalize() + "."


def jaccard(one: str, other: str) -> float:
    sets = [
        {spelt[n : n + 5] for n in range(max(1, len(spelt) - 4))}
        for spelt in (" ".join(spelt_words(text)).ljust(5) for text in (one, other))
    ]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_near_texts_are_those_of_comparing_each_with_each() -> None:
    draw = random.Random(0)
    others = [sentence(draw, draw.randint(1, 14)) for _ in range(120)]
    texts = []
    for number in range(80):
        words = others[number].split()
        words[draw.randrange(len(words))] = draw.choice(WORDS)
        texts.append(" ".join(words) if number % 2 else sentence(draw, 9))
    found = near_texts(texts, others)
    for text, near in zip(texts, found, strict=True):
        best = max(jaccard(text, other) for other in others)
        assert (near is not None) == (best >= NEAR)
        if near is not None:
            assert near.similarity == pytest.approx(best) == jaccard(text, others[near.number])


def test_two_hundred_planted_leaks_are_found_and_nothing_else_is() -> None:
    draw = random.Random(1)
    texts = [sentence(draw, draw.randint(8, 20)) for _ in range(1_000)]
    leaked = set(draw.sample(range(1_000), 200))
    runs = Runs(texts)
    for number in range(400):
        document = [sentence(draw, 15) for _ in range(10)]
        if number < 200:
            text = texts[sorted(leaked)[number]]
            document.insert(5, text.upper() if number % 3 == 0 else text.replace(" ", ",  "))
        runs.look_in(" ".join(document))
    assert set(np.flatnonzero(runs.shares() >= 0.5).tolist()) == leaked


def test_runs_are_those_of_comparing_word_by_word() -> None:
    draw = random.Random(2)
    few = WORDS[:3]
    texts = [" ".join(draw.choice(few) for _ in range(draw.randint(3, 12))) for _ in range(60)]
    document = " ".join(draw.choice([*few, "other"]) for _ in range(3_000))
    runs = Runs(texts)
    runs.look_in(document)
    padded = f" {document} "
    for text, share in zip(texts, runs.shares(), strict=True):
        words = text.split()
        length = min(8, len(words))
        every = [" ".join(words[n : n + length]) for n in range(len(words) - length + 1)]
        expected = np.mean([f" {run} " in padded for run in every]) if length >= 5 else 0.0
        assert share == pytest.approx(expected)
    assert runs.too_short.tolist() == [len(text.split()) < 5 for text in texts]


def test_a_run_does_not_go_on_from_one_text_into_the_next() -> None:
    text = "one two three four five six seven eight"
    runs = Runs([text])
    runs.look_in("one two three four")
    runs.look_in("five six seven eight")
    assert runs.shares().tolist() == [0.0]
    runs.look_in(f"zero {text} nine")
    assert runs.shares().tolist() == [1.0]


def test_exact_is_the_same_words_and_scripts_without_spaces_are_compared_too() -> None:
    assert exact_texts(["A b!", "a c"], ["a, B"]).tolist() == [True, False]
    japanese = "吾輩は猫である。名前はまだ無い。どこで生れたか"
    (near,) = near_texts([japanese], [japanese.replace("無い", "ない")])
    assert near is not None and near.similarity < 1
    runs = Runs([japanese])
    runs.look_in(f"と言う。{japanese}と言う。")
    assert runs.shares().tolist() == [1.0]
    assert near_texts([], ["x"]) == [] and near_texts(["x"], []) == [None]
