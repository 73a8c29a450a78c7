"""What a model has seen is found: among its examples, and in the text of the runs that it comes from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.evaluation.tuned.leaks import find_leaks
from unmask.files import with_seal
from unmask.runs.directory import read_description
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


def test_test_texts_that_chose_the_moment_are_told(run: Path, tmp_path: Path) -> None:
    records = [{"text": f"{text} {n}", "label": "ab"[n % 2]} for n, text in enumerate(LEARNT * 10)]
    others = [{"text": f"number {n}", "label": "ab"[n % 2]} for n in range(20)]
    files = {name: tmp_path / f"{name}.jsonl" for name in ("train", "dev")}
    for file, own in zip(files.values(), (others, records), strict=True):
        file.write_text("".join(json.dumps(record) + "\n" for record in own))
    settings = {"dev": files["dev"], "test": files["dev"], "epochs": 0.1}
    tuned = unmask.tune("classify", run, files["train"], out=tmp_path / "tuned", **settings)
    chosen_on = next(overlap for overlap in tuned.overlaps if overlap.source == "dev")
    assert (chosen_on.part, chosen_on.exact, tuned.test.leaked) == ("test", 20, 20)
    assert tuned.test.clean_accuracy is None


def test_examples_of_every_task_are_looked_into(run: Path, tmp_path: Path) -> None:
    words = [f"{text[:-1]} {n} ." for n, text in enumerate(LEARNT)]
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": str(n), "text": t}) + "\n" for n, t in enumerate(words))
    )
    (beir / "queries.jsonl").write_text('{"_id": "q", "text": "who sees the garden"}\n')
    (beir / "qrels" / "train.tsv").write_text("q\t0\t1\n")
    columns = "\n\n".join("\n".join(f"{word}\tO" for word in text.split()) for text in words)
    questions = [{"id": "1", "question": "Who?", "answers": [{"text": "king", "answer_start": words[0].index("king")}]}]
    squad = {"data": [{"paragraphs": [{"context": words[0], "qas": questions}]}]}
    lists = "".join(json.dumps({"tokens": text.split(), "tags": ["O"] * len(text.split())}) + "\n" for text in words)
    for name, content in (("a.conll", columns), ("b.json", json.dumps(squad)), ("c.jsonl", lists)):
        (tmp_path / name).write_text(content)
    for place, found in ((beir, 2), (tmp_path / "a.conll", 2), (tmp_path / "b.json", 1), (tmp_path / "c.jsonl", 2)):
        made = tmp_path / f"of-{place.name}"
        shutil.copytree(run, made)
        description = read_description(made) | {"places": {"train": str(place)}}
        description.pop("seal", None)
        (made / "run.json").write_text(json.dumps(with_seal(description)))
        _, overlap = find_leaks(
            "test", [*LEARNT, "nothing of all this was ever in any of those files"], [], made
        ).overlaps
        assert (overlap.known, overlap.path, overlap.runs) == (True, place, found), place
