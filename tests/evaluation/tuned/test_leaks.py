"""What a model has seen is found: among its examples, and in the text of the runs that it comes from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.evaluation.tuned.leaks import find_leaks
from unmask.runs.lineage import texts_read
from unmask.tokens.store.dataset import Dataset

LEARNT = ["The old king sees the garden every single day in winter.", "Nobody likes the bridge over the wide river."]


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pretrained") / "run"
    unmask.pretrain(data, out=out, recipe="tiny", steps=1)
    return out


def sentences(data: Path) -> list[str]:
    """Stretches of twelve words out of the middle of training documents."""
    words = [text.split() for text in Dataset.open(data).texts("train")]
    return [" ".join(each[3:15]) for each in words if len(each) >= 20][:50]


def test_planted_leaks_of_every_kind_are_told_apart(run: Path, data: Path) -> None:
    planted = sentences(data)
    fresh = [" ".join(f"wort{n}x{k}" for k in range(12)) for n in range(50)]
    near = LEARNT[0].replace("every", "one")
    leaks = find_leaks("test", [LEARNT[1].upper(), near, *planted, *fresh, "so short"], LEARNT, run / "model")
    train, text = leaks.overlaps
    assert (train.exact, train.near, train.source, train.known, train.too_short) == (1, 1, "train", True, 1)
    assert (text.source, text.path, text.known, text.runs) == ("data", data.resolve(), True, len(planted))
    assert np.flatnonzero(leaks.leaked).tolist() == list(range(2 + len(planted)))


def test_the_text_of_every_run_before_is_looked_into(run: Path, data: Path, tmp_path: Path) -> None:
    records = [{"text": f"{text} {n}", "label": "ab"[n % 2]} for n, text in enumerate(LEARNT * 10)]
    train = tmp_path / "train.jsonl"
    train.write_text("".join(json.dumps(record) + "\n" for record in records))
    tuned = unmask.tune("classify", run, train, dev=train, out=tmp_path / "tuned", epochs=0.1)
    assert [(read.name, read.path) for read in texts_read(tuned.model)] == [
        ("train", train.resolve()),
        ("data", data.resolve()),
    ]
    dev = [overlap for overlap in tuned.overlaps if overlap.part == "dev"]
    assert dev[0].exact == 20
    train.unlink()
    leaks = find_leaks("test", [LEARNT[0]], ["other words"], tuned.model)
    assert [overlap.known for overlap in leaks.overlaps] == [True, False, True] and not leaks.count


def test_of_a_model_that_no_run_made_it_is_said_that_nobody_knows(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run / "model", tmp_path / "model")
    leaks = find_leaks("test", LEARNT[:1], LEARNT, tmp_path / "model")
    assert [overlap.known for overlap in leaks.overlaps] == [True, False] and leaks.count == 1
