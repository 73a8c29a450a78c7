"""A collection without a training split is judged by folds, on several processes too."""

from __future__ import annotations

import json
from pathlib import Path

import processes

from unmask.tasks.retrieve.open import folds_without_split


def test_without_a_training_split_there_are_three_folds_where_nobody_says(split: Path, unsplit: Path) -> None:
    assert (folds_without_split(unsplit), folds_without_split(split)) == (3, 0)


def test_two_processes_run_one_fold_after_the_other_and_one_speaks_for_both(
    start: Path, unsplit: Path, tmp_path: Path
) -> None:
    words = ["tune", "retrieve", str(start), str(unsplit), "--out", str(tmp_path / "run"), "--epochs", "1"]
    options = ["--folds", "2", "--precision", "float32", "--json"]
    done = processes.run(tmp_path / "said", 2, [*words, *options])
    assert done.returncode == 0, done.stderr
    (answer,) = map(json.loads, done.stdout.splitlines())
    assert answer["folds"]["queries"] == 45 and answer["path"] == str(tmp_path / "run")
    assert (tmp_path / "run" / "trials" / "fold-2" / "model").is_dir()
