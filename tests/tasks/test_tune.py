"""A tuning is asked for once: what goes on is what it was, and what is wrong is told before it begins."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput, Refused

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def tuned(start: Path, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tuned") / "run"
    unmask.tune("classify", start, files["train"], dev=files["dev"], out=out, epochs=1, precision="float32")
    return out


def test_a_run_goes_on_only_as_what_it_was(tuned: Path, files: dict[str, Path], data: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"--lr: the run has 0\.001, asked for 0\.5"):
        unmask.tune("classify", resume=tuned, lr=0.5)
    with pytest.raises(Refused, match="the labelled examples: the run has"):
        unmask.tune("classify", None, files["dev"], resume=tuned)  # type: ignore[arg-type]
    assert unmask.tune("classify", resume=tuned).steps == 5
    unmask.pretrain(data, out=tmp_path / "other", recipe="tiny", steps=1)
    with pytest.raises(BadInput, match="is a run of another kind; unmask pretrain --resume"):
        unmask.tune("classify", resume=tmp_path / "other")
    with pytest.raises(BadInput, match="is a run of another kind; unmask tune classify --resume"):
        unmask.pretrain(resume=tuned)


def test_files_that_moved_are_asked_for(tuned: Path, start: Path, files: dict[str, Path], tmp_path: Path) -> None:
    train = Path(shutil.copy(files["train"], tmp_path / "train.jsonl"))
    unmask.tune("classify", start, train, dev=files["dev"], out=tmp_path / "run", epochs=0.3)
    train.rename(tmp_path / "moved.jsonl")
    with pytest.raises(BadInput, match=r"its train is no longer at .*train\.jsonl; say where it is now by TRAIN"):
        unmask.tune("classify", resume=tmp_path / "run")
    assert unmask.tune("classify", start, tmp_path / "moved.jsonl", resume=tmp_path / "run").steps == 2


def test_its_commands_say_one_line_and_leave_nothing_behind(
    inside: Run, start: Path, files: dict[str, Path], tmp_path: Path
) -> None:
    def told(*words: object) -> str:
        done = inside("tune", *words, cwd=tmp_path)
        assert done.returncode in (2, 3) and len(done.stderr.splitlines()) == 1 and not done.stdout
        return done.stderr

    said = told("sing", start, files["train"], "--out", "run")
    assert "TASK sing: give one of classify, tag, answer, similarity, retrieve" in said
    assert "tune where?" in told("classify", start, files["train"])
    assert "which examples to learn from?" in told("classify", start, "--out", "run")
    assert "does not exist" in told("classify", start, "nothing.jsonl", "--out", "run")
    (tmp_path / "test.jsonl").write_text(json.dumps({"text": "a", "label": "new"}) + "\n")
    line = told("classify", start, files["train"], "--test", "test.jsonl", "--out", "run")
    assert "test.jsonl:1: the label 'new' is none that was learnt from" in line
    assert not (tmp_path / "run").exists()


def test_what_it_reads_is_said_and_its_page_is_drawn(
    inside: Run, start: Path, files: dict[str, Path], tmp_path: Path
) -> None:
    words = ("--dev", files["dev"], "--test", files["test"], "--epochs", 1, "--out", tmp_path / "run")
    done = inside("tune", "classify", start, files["train"], *words)
    assert done.returncode == 0
    assert "text 'text', label 'label'; 160 to learn from, each with one of 2 labels" in " ".join(done.stderr.split())
    for said in ("on 60 test texts", "majority", "TF-IDF", "frozen vectors", "95 % interval", "unmask predict"):
        assert said in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80
    kept = json.loads((tmp_path / "run" / "tuned.json").read_text())
    assert kept["test"]["examples"] == 60 and len(kept["test"]["baselines"]) == 3


def test_of_moments_that_are_as_good_as_none_one_that_has_learnt_is_kept(
    start: Path, files: dict[str, Path], tmp_path: Path
) -> None:
    settings = {"lr": 1e-9, "epochs": 1, "precision": "float32"}  # so that nothing is said otherwise on dev
    tuned = unmask.tune("classify", start, files["train"], dev=files["dev"], out=tmp_path / "run", **settings)
    assert 0 < tuned.step < tuned.steps and unmask.tune("classify", resume=tmp_path / "run").step == tuned.step
