"""Labelled texts that can be learnt in seconds: one word of each decides its label."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORDS = {"animal": ("cat", "dog"), "place": ("river", "garden", "sea"), "thing": ("bridge", "bread", "coins")}
AROUND = ("the king sees", "nobody likes", "my sister paints", "one traveller wants", "her teacher remembers")


def labelled(count: int, seed: int = 0, labels: tuple[str, ...] = ("animal", "place")) -> list[dict[str, Any]]:
    """Records with a text and a label, the labels in turn."""
    draw = random.Random(seed)
    records = []
    for number in range(count):
        label = labels[number % len(labels)]
        text = (
            f"{draw.choice(AROUND)} the {draw.choice(WORDS[label])} {draw.choice(('every day', 'in winter', 'again'))}."
        )
        records.append({"text": text, "label": label})
    return records


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def start(make_model: Callable[..., Path]) -> Path:
    """A tiny encoder without dropout."""
    return make_model("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.1)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Train, dev and test."""
    folder = tmp_path_factory.mktemp("labelled")
    sizes = {"train": 160, "dev": 40, "test": 60}
    return {name: write(folder / f"{name}.jsonl", labelled(size, n)) for n, (name, size) in enumerate(sizes.items())}
