"""embed, index, search and near, as commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

import unmask

Make = Callable[..., Path]
Run = Callable[..., CompletedProcess[str]]
LINES = [
    {"_id": "bridge", "text": "The captain crosses a wooden bridge at night."},
    {"_id": "garden", "text": "The king paints the garden."},
    {"_id": "again", "text": "The captain crosses a wooden bridge at night."},
]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)) + "\n")
    return path


def test_the_journey_from_texts_to_what_is_found(inside: Run, make_model: Make, texts: Path, tmp_path: Path) -> None:
    done = inside("embed", make_model(), texts, "--out", tmp_path / "v", "--normalise", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["texts"] == 3
    done = inside("near", tmp_path / "v", "--above", "0.99")
    assert "1 pairs of 3 texts" in " ".join(done.stdout.split()) and "bridge  again" in done.stdout
    done = inside("index", make_model(), texts, "--out", tmp_path / "i")
    assert done.returncode == 0 and "documents" in done.stdout and "not tuned for search" in done.stdout
    done = inside("search", tmp_path / "i", "wooden bridges, a bridge")
    assert "*wooden* *bridge*" in done.stdout and "by words (BM25)" in done.stdout
    done = inside("search", tmp_path / "i", "garden", "--by", "dense", "--json")
    assert {hit["document"] for hit in json.loads(done.stdout)["hits"]} == {"bridge", "garden", "again"}
    (tmp_path / "more.jsonl").write_text('{"id": "moon", "text": "The moon follows the sea."}\n')
    done = inside("index", tmp_path / "i", "--add", tmp_path / "more.jsonl", "--remove", "again", "--json")
    assert {"documents": 3, "added": 1, "removed": 1}.items() <= json.loads(done.stdout).items()
    assert inside("verify", tmp_path / "i").returncode == 0
    done = inside("search", tmp_path / "i", "--json", stdin="moon\nking\n")
    assert [json.loads(line)["hits"][0]["document"] for line in done.stdout.splitlines()] == ["moon", "garden"]


def test_texts_that_are_given_are_shown_with_their_vectors(inside: Run, make_model: Make) -> None:
    done = inside("embed", make_model(), "The king.", "king " * 100)
    assert "32 numbers" in done.stdout and "tokens read in" in done.stdout
    done = inside("embed", make_model(), "The king.", "--json", "--dimensions", "4")
    made = json.loads(done.stdout)
    np.testing.assert_allclose(made["vector"], unmask.load(make_model()).embed(["The king."])[0, :4], atol=1e-5)
    assert (made["windows"], made["cut"]) == (1, 0) and made["tokens_read"] > 2


def test_what_cannot_be_is_one_line_with_its_code(
    inside: Run, make_model: Make, texts: Path, tmp_path: Path, data: Path
) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    moved = tmp_path / "moved"
    shutil.copytree(make_model(), moved)
    assert inside("index", moved, texts, "--out", tmp_path / "i").returncode == 0
    for words, code, line in (
        (("embed", make_model(), "king", "--out", tmp_path / "v"), 3, "kept for one file of texts"),
        (("embed", make_model(), "king", "--whiten"), 3, "--whiten: is fitted on a corpus"),
        (("embed", make_model(), data), 3, "its vectors need a place: give --out"),
        (("embed", make_model(), tmp_path / "empty.jsonl", "--out", tmp_path / "v"), 3, "has no text"),
        (("embed", make_model(), "king", "--pooling", "max"), 3, "--pooling max: choose mean, first, or last4"),
        (("index", make_model(), tmp_path / "empty.jsonl", "--out", tmp_path / "e"), 3, "has no text"),
        (("index", make_model(), texts, "--out", tmp_path / "i"), 5, "is an index already"),
        (("index", make_model(), "--out", tmp_path / "e"), 3, "give a model and one corpus"),
        (("index", make_model(), "--remove", "x"), 3, "not a search index but a model directory"),
        (("index", tmp_path / "i", "--remove", "nobody"), 3, "--remove nobody: no document of"),
        (("index", tmp_path / "i", texts, "--remove", "again"), 3, "give an index alone with --add and --remove"),
        (("search", data, "king"), 3, "not a search index but a data directory"),
        (("search", tmp_path / "i", "king", "--by", "dense", "--encoder", make_model("electra")), 5, "another model"),
        (("near", data), 3, "has no vectors; give --model"),
    ):
        done = inside(*words)
        assert (done.returncode, done.stdout) == (code, ""), (words, done)
        assert line in done.stderr and done.stderr.strip().splitlines()[-1].startswith("unmask: "), words
    moved.rename(tmp_path / "elsewhere")
    done = inside("search", tmp_path / "i", "king", "--by", "dense")
    assert done.returncode == 3 and "--encoder says where it is now; --by bm25 searches without it" in done.stderr
    assert inside("search", tmp_path / "i", "king").returncode == 0
    assert (
        inside("search", tmp_path / "i", "king", "--by", "fused", "--encoder", tmp_path / "elsewhere").returncode == 0
    )


def test_searching_by_words_loads_no_torch(command: Run, make_model: Make, texts: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    unmask.index(make_model(), texts, out=tmp_path / "i")
    code = f"import sys, unmask; unmask.search({str(tmp_path / 'i')!r}, 'king'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
