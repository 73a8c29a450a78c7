"""Questions that can be answered in seconds: one asks who it is, another what is liked; that is not always told."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

WHO = ("my sister", "the captain", "grandmother", "one traveller", "nobody")
WHAT = ("Paris", "music", "clouds", "bread", "old stories")


def squad(paragraphs: int, seed: int = 0, *, impossible: bool = True, articles: int = 1) -> dict[str, Any]:
    """Articles of paragraphs with two questions each; to every second paragraph one of them has no answer."""
    draw = random.Random(seed)
    made: list[dict[str, Any]] = [{"title": f"article {n}", "paragraphs": []} for n in range(articles)]
    for number in range(paragraphs):
        who, what = draw.choice(WHO), draw.choice(WHAT)
        told = not impossible or number % 2 == 0
        context = f"of course {who} likes {what} again ." if told else f"of course {who} laughs at night ."
        questions = {"the king ?": who, "the dog ?": what if told else None}
        qas = [
            {
                "id": f"{seed}-{number}-{place}",
                "question": question,
                "answers": [] if answer is None else [{"text": answer, "answer_start": context.index(answer)}],
                "is_impossible": answer is None,
            }
            for place, (question, answer) in enumerate(questions.items())
        ]
        made[number % articles]["paragraphs"].append({"context": context, "qas": qas})
    return {"version": "v2.0", "data": made}


def write_squad(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def question_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Train, dev and test; `plain` is train without questions that have no answer."""
    folder = tmp_path_factory.mktemp("questions")
    sizes = {"train": 100, "dev": 20, "test": 30}
    files = {name: write_squad(folder / f"{name}.json", squad(size, n)) for n, (name, size) in enumerate(sizes.items())}
    return {**files, "plain": write_squad(folder / "plain.json", squad(80, 5, impossible=False, articles=12))}


@pytest.fixture(scope="session")
def answerer_run(start: Path, question_files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model that has learnt them."""
    import unmask

    files = question_files
    settings: dict[str, Any] = {
        "dev": files["dev"],
        "test": files["test"],
        "epochs": 12,
        "lr": 5e-3,
        "layer_decay": 1.0,
    }
    out = tmp_path_factory.mktemp("answerer") / "qa"
    return unmask.tune("answer", start, files["train"], out=out, precision="float32", save_seconds=0.0, **settings)
