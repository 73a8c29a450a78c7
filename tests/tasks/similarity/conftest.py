"""Scored pairs that can be learnt in seconds: how many of two words the texts share is their score."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

WORDS = ("cat", "dog", "river", "garden", "bridge", "bread")
ENDS = ("every day.", "in winter.", "again.")


def scored_lines(count: int, seed: int) -> str:
    """TSV: pairs that share both nouns, one or none, with scores 5, 2.5 and 0."""
    draw = random.Random(seed)
    lines = ["sentence1\tsentence2\tscore"]
    for number in range(count):
        one = draw.sample(WORDS, 2)
        others = [word for word in WORDS if word not in one]
        shared = number % 3
        two = [*one[:shared], *draw.sample(others, 2 - shared)]
        texts = (f"the {a} sees the {b} {draw.choice(ENDS)}" for a, b in (one, two))
        lines.append("\t".join([*texts, f"{2.5 * shared}"]))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Train, dev and test."""
    folder = tmp_path_factory.mktemp("scored")
    files = {}
    for seed, (name, count) in enumerate({"train": 120, "dev": 45, "test": 60}.items()):
        files[name] = folder / f"{name}.tsv"
        files[name].write_text(scored_lines(count, seed), encoding="utf-8")
    return files
