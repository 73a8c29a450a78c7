"""Classifiers that are tuned in a second: one word of each text decides its label."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import unmask
from unmask.files import with_seal, write_json
from unmask.runs.claim import read_sealed

AROUND = ("the king sees", "nobody likes", "my sister paints", "one traveller wants", "her teacher remembers")
WORDS = {"animal": ("cat", "dog"), "place": ("river", "garden", "sea")}


def records(count: int, seed: int, *, pairs: bool = False, several: bool = False) -> list[dict[str, Any]]:
    """Texts, or pairs whose second text decides, with a label or a list of labels."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        label = ("animal", "place")[number % 2]
        begin, word = draw.choice(AROUND), f"the {draw.choice(WORDS[label])} {draw.choice(('every day', 'again'))}."
        record: dict[str, Any] = {"premise": f"{begin} music.", "hypothesis": word} if pairs else {}
        record = record or {"text": f"{begin} {word}"}
        found.append({**record, "label": [label] if several else label})
    return found


@pytest.fixture
def moved_start(tune_words: Callable[..., Path], tmp_path: Path) -> Callable[[Path], Path]:
    """A copy of a run that says that its start is elsewhere."""

    def move(place: Path) -> Path:
        shutil.copytree(tune_words(), tmp_path / "run", dirs_exist_ok=True)
        description = read_sealed(tmp_path / "run" / "run.json")
        description["places"]["model"] = str(place)
        write_json(tmp_path / "run" / "run.json", with_seal(description))
        return tmp_path / "run"

    return move


@pytest.fixture(scope="session")
def tune_words(make_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A run tuned on such texts, each kind once."""
    made: dict[str, Path] = {}

    def tune(kind: str = "wordpiece", **changes: bool) -> Path:
        name = "-".join([kind, *changes])
        if name not in made:
            folder = tmp_path_factory.mktemp("explained")
            for part, count, seed in (("train", 160, 0), ("dev", 40, 1)):
                lines = [json.dumps(record) + "\n" for record in records(count, seed, **changes)]
                (folder / f"{part}.jsonl").write_text("".join(lines))
            start = make_model(
                "bert", kind, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.1
            )
            files = {"dev": folder / "dev.jsonl", "epochs": 20, "lr": 1e-3, "precision": "float32"}
            unmask.tune("classify", start, folder / "train.jsonl", out=folder / "run", **files)  # type: ignore[arg-type]
            made[name] = folder / "run"
        return made[name]

    return tune
