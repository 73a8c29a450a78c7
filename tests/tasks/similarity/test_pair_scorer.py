"""What `predict` says of a pair is what was measured."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

import unmask
from unmask.errors import BadInput, Damaged
from unmask.tasks.similarity.scored import read_scored


@pytest.fixture(scope="module")
def tuned(start: Path, scored: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> unmask.Tuned:
    out = tmp_path_factory.mktemp("tuned") / "run"
    settings: dict[str, Any] = {"epochs": 2, "lr": 3e-4, "precision": "float32"}
    return unmask.tune(
        "similarity", start, scored["train"], dev=scored["dev"], test=scored["test"], out=out, **settings
    )


def test_predict_says_what_the_evaluation_measured(
    tuned: unmask.Tuned, scored: dict[str, Path], tmp_path: Path, inside: Callable[..., Any]
) -> None:
    pairs = read_scored(scored["test"])
    lines = [json.dumps({"sentence1": each.text, "sentence2": each.pair}) for each in pairs.examples]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    done = inside("predict", tuned.path, tmp_path / "pairs.jsonl", "--json")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [each["text"] for each in said] == [each.text for each in pairs.examples]
    cosines = np.array([each["cosine"] for each in said])
    assert isinstance(tuned.test, unmask.JudgedSimilarity)
    assert spearmanr(cosines, pairs.scores).statistic == pytest.approx(tuned.test.spearman.value, abs=1e-6)
    assert pearsonr(cosines, pairs.scores).statistic == pytest.approx(tuned.test.pearson.value, abs=1e-6)


def test_a_file_becomes_json_lines_where_nobody_reads_them_on_a_terminal(
    tuned: unmask.Tuned, tmp_path: Path, inside: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"sentence1": "the cat", "sentence2": "a cat"}\n')
    redirected = inside("predict", tuned.path, tmp_path / "pairs.jsonl")
    piped = inside("predict", tuned.path, stdin=(tmp_path / "pairs.jsonl").read_text())
    asked = inside("predict", tuned.path, tmp_path / "pairs.jsonl", "--json")
    assert json.loads(redirected.stdout)["text"] == "the cat"
    assert redirected.stdout == piped.stdout == asked.stdout
    written = inside("predict", tuned.path, tmp_path / "pairs.jsonl", "--out", tmp_path / "out.jsonl")
    numbered = {"line": 1, **json.loads(asked.stdout)}
    assert "{" not in written.stdout and json.loads((tmp_path / "out.jsonl").read_text()) == numbered
    assert "{" not in inside("predict", tuned.path, "the cat", "a cat").stdout
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "{" not in inside("predict", tuned.path, tmp_path / "pairs.jsonl").stdout


def test_the_score_of_a_cosine_is_on_the_line_through_the_held_out_pairs(
    tuned: unmask.Tuned, scored: dict[str, Path]
) -> None:
    pairs = read_scored(scored["dev"])
    texts = [text for each in pairs.examples for text in (each.text, each.pair)]
    said = [each for each in unmask.predict(tuned.path, *texts) if isinstance(each, unmask.Similarity)]
    cosines, scores = (np.array([getattr(each, name) for each in said]) for name in ("cosine", "score"))
    expected = np.clip(np.polyval(np.polyfit(cosines, pairs.scores, 1), cosines), 0, 5)
    assert np.abs(scores - expected).max() < 1e-3
    assert spearmanr(cosines, pairs.scores).statistic == pytest.approx(tuned.figures["spearman"], abs=1e-6)


def test_a_single_text_and_a_changed_card_are_refused(tuned: unmask.Tuned, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="this model takes pairs of texts: give JSON lines with the fields 'sentence1'"):
        unmask.predict(tuned.path, "one text")
    copied = Path(shutil.copytree(tuned.model, tmp_path / "model"))
    card = json.loads((copied / "task.json").read_text())
    (copied / "task.json").write_text(json.dumps({**card, "slope": None, "low": None, "nothing": 1}))
    with pytest.raises(Damaged, match=r"task\.json: cannot be read"):
        unmask.predict(copied, "a", "b")


def test_an_index_takes_the_model_as_one_that_was_tuned(tuned: unmask.Tuned, corpus: Path, tmp_path: Path) -> None:
    lines = corpus.read_text().splitlines()[:40]
    (tmp_path / "texts.txt").write_text("\n".join(lines))
    made = unmask.index(tuned.path, tmp_path / "texts.txt", out=tmp_path / "index")
    assert made.tuned
    (found,) = unmask.search(tmp_path / "index", "the cat sees the garden")
    assert isinstance(found, unmask.Searched) and found.by == "fused"
