"""A collection that can be learnt in seconds: a query has two words of the documents that answer it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

WORDS = ("cat", "dog", "river", "garden", "bridge", "bread", "sea", "king", "moon", "clouds")
ENDS = ("every day.", "in winter.", "again.", "without a word.")


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def made_collection(folder: Path, *, splits: tuple[str, ...]) -> Path:
    """45 documents, one for each pair of words, and a query for each; judgments of each split for its share of them."""
    draw = random.Random(0)
    both = [(one, two) for place, one in enumerate(WORDS) for two in WORDS[place + 1 :]]
    documents, queries, judgments = [], [], []
    for number, (one, two) in enumerate(both):
        text = f"the {one} sees the {two} {draw.choice(ENDS)}"
        documents.append({"_id": f"d{number}", "title": one if number % 2 else "", "text": text})
        queries.append({"_id": f"q{number}", "text": f"{two} and {one}"})
        judgments.append(f"q{number}\td{number}\t{1 + number % 2}")
    (folder / "qrels").mkdir(parents=True)
    write_lines(folder / "corpus.jsonl", documents)
    write_lines(folder / "queries.jsonl", queries)
    draw.shuffle(judgments)
    for place, split in enumerate(splits):
        lines = ["query-id\tcorpus-id\tscore", *judgments[place :: len(splits)]]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def unsplit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with test judgments only."""
    return made_collection(tmp_path_factory.mktemp("beir") / "unsplit", splits=("test",))


@pytest.fixture(scope="session")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all three splits."""
    return made_collection(tmp_path_factory.mktemp("beir") / "split", splits=("train", "dev", "test"))
