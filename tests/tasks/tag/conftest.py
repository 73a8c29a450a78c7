"""Tagged texts that can be learnt in seconds: a few names of two kinds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

NAMES = {"PER": ("my sister", "the captain", "grandmother", "one traveller"), "LOC": ("Paris", "the sea", "the garden")}
AROUND = ("{} likes {} again .", "{} sees clouds in winter .", "nobody forgets {} .", "music and bread , of course")


def tagged(count: int, seed: int = 0) -> list[tuple[list[str], list[str]]]:
    """Words and their tags, in IOB2."""
    draw = random.Random(seed)
    texts = []
    for number in range(count):
        words, tags = [], []
        for word in AROUND[number % len(AROUND)].split():
            if word != "{}":
                words.append(word)
                tags.append("O")
                continue
            label = draw.choice(("PER", "LOC"))
            name = draw.choice(NAMES[label]).split()
            words += name
            tags += [f"B-{label}", *[f"I-{label}"] * (len(name) - 1)]
        texts.append((words, tags))
    return texts


def write_columns(path: Path, texts: list[tuple[list[str], list[str]]]) -> Path:
    """A file in columns."""
    sentences = ["".join(f"{word}\t{tag}\n" for word, tag in zip(*text, strict=True)) for text in texts]
    path.write_text("\n".join(sentences), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tagged_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Train, dev and test."""
    folder = tmp_path_factory.mktemp("tagged")
    sizes = {"train": 160, "dev": 40, "test": 60}
    return {
        name: write_columns(folder / f"{name}.conll", tagged(size, n)) for n, (name, size) in enumerate(sizes.items())
    }


@pytest.fixture(scope="session")
def tagger_run(start: Path, tagged_files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model that has learnt them."""
    import unmask

    files = tagged_files
    settings: dict[str, Any] = {
        "dev": files["dev"],
        "test": files["test"],
        "epochs": 12,
        "lr": 5e-3,
        "layer_decay": 1.0,
    }
    out = tmp_path_factory.mktemp("tagger") / "entities"
    return unmask.tune("tag", start, files["train"], out=out, precision="float32", save_seconds=0.0, **settings)
