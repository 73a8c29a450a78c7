"""`unmask explain` as a command: its page, its JSON, and one line for what is wrong."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def tuned(make_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw = tmp_path_factory.mktemp("tuned"), random.Random(0)
    words = {"animal": ("cat", "dog"), "place": ("river", "sea")}
    records = [
        {"text": f"nobody {draw.choice(('sees', 'likes'))} the {draw.choice(words[label])} again.", "label": label}
        for label in ("animal", "place") * 40
    ]
    (folder / "train.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    start = make_model("bert", hidden_dropout_prob=0.0, initializer_range=0.1)
    unmask.tune("classify", start, folder / "train.jsonl", out=folder / "run", epochs=3, precision="float32")
    return folder / "run"


def test_its_page_is_drawn_and_its_json_is_clean(inside: Run, tuned: Path) -> None:
    done = inside("explain", tuned, "nobody likes the dog.", "--changes", 1)
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    for said in ("why ", "log-odds", "other words in a word's", "spoke for it"):
        assert said in " ".join(done.stdout.split())
    done = inside("explain", tuned, "nobody likes the dog.", "--json")
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["method"] == "replaced" and len(json.loads(line)["words"]) == 5


def test_a_file_is_explained_line_by_line_and_goes_on(inside: Run, tuned: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"text": text}) for text in ("the dog.", "the sea.", " ")]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n")
    done = inside("explain", tuned, "texts.jsonl", "--out", "why.jsonl", "--changes", 0, cwd=tmp_path)
    assert done.returncode == 0
    written = [json.loads(line) for line in (tmp_path / "why.jsonl").read_text().splitlines()]
    assert [each["text"] for each in written[:2]] == ["the dog.", "the sea."]
    assert "the field 'text' is empty" in json.dumps(written[2])


def test_the_rows_of_a_table_are_explained(inside: Run, tuned: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text('id,text\n1,"the dog, again."\n')
    done = inside("explain", tuned, "texts.csv", "--changes", 0, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["text"] == "the dog, again."


def test_of_a_masked_model_it_explains_the_blank(inside: Run, make_model: Callable[..., Path]) -> None:
    done = inside("explain", make_model(), "The dog sees [MASK].", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["explained"][0]["blanks"] == [0]


def test_what_is_wrong_is_said_in_one_line(inside: Run, tuned: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing to explain"):
        unmask.explain(tuned)
    for words, said in (
        ((tuned, "the dog", "--label", "anima"), "did you mean animal"),
        ((tmp_path / "nothing", "the dog"), "does not exist"),
    ):
        done = inside("explain", *words)
        assert done.returncode == 3 and said in done.stderr
        assert len(done.stderr.splitlines()) == 1 and not done.stdout
