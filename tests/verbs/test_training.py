"""plan, runs and watch as commands: one JSON document, and one line for what goes wrong."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import unmask

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_plan_for_named_hardware_is_one_json_document(inside: Run, data: Path) -> None:
    words = ("plan", "--recipe", "bert-tiny", "--data", data, "--hardware", "2xT4", "--steps", 10, "--json")
    done = inside(*words)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["devices"], found["precision"], found["steps"]) == (2, "float16", 10)
    assert found["tokens"] == 10 * found["batch_size"] * found["length"] and found["seconds"] > 0


def test_runs_and_watch_tell_of_a_run_that_has_ended(inside: Run, data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    unmask.pretrain(data, out=run, recipe="tiny", steps=2, length=32, batch_size=2, report=False)
    (listed,) = json.loads(inside("runs", tmp_path, "--json").stdout)["runs"]
    assert (listed["state"], listed["step"], listed["path"]) == ("finished", 2, str(run))
    assert json.loads(inside("watch", run, "--once", "--json").stdout)["best"]["figures"]["loss"] > 0
    assert not (run / "report.html").exists()
    assert "it came to its end" in " ".join(inside("watch", run).stdout.split())


def test_what_cannot_be_planned_or_watched_is_one_line(inside: Run, data: Path, tmp_path: Path) -> None:
    for words, said in (
        (("plan",), "give --data, or a --vocab-size"),
        (("plan", "--vocab-size", 3), "give --data, or a --vocab-size"),
        (("plan", "--vocab-size", 500, "--hardware", "9xZ"), "--hardware 9xZ"),
        (("plan", "--vocab-size", 500, "--hardware", "T4", "--precision", "bfloat16"), "T4 computes in float16"),
        (("plan", "--data", tmp_path, "--steps", 1), str(tmp_path)),
        (("plan", "--data", data, "--compare", tmp_path), "is not a run directory"),
        (("runs", tmp_path / "nowhere"), "nowhere: is not a folder"),
        (("watch", tmp_path), "is not a run directory"),
    ):
        done = inside(*words)
        assert (done.returncode, done.stdout) == (3, ""), done.stderr
        assert said in done.stderr and done.stderr.count("\n") == 1
