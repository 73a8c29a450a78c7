"""plan, pretrain, runs and watch as commands: one JSON document, and one line for what goes wrong."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.cli import read_settings

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


@pytest.mark.parametrize(
    ("words", "resume"),
    [
        (["--resume", "my run"], Path("my run")),
        (["--resume=run"], Path("run")),
        (["data", "--resume", "run", "--device", "cpu"], Path("run")),
        (["data", "--out", "run", "--resume"], True),
        (["data", "--resume", "--out", "run"], True),
        (["data", "--out", "run"], False),
    ],
)
def test_resume_names_a_run_or_stands_alone(words: list[str], resume: Path | bool) -> None:
    call, _ = read_settings(unmask.pretrain, words)
    assert call.keywords["resume"] == resume  # type: ignore[attr-defined]
    assert call.args == ((Path("data"),) if words[0] == "data" else (None,))  # type: ignore[attr-defined]


def test_a_run_goes_on_by_the_command_that_the_list_of_runs_says(inside: Run, data: Path, tmp_path: Path) -> None:
    run = tmp_path / "my run"
    first = unmask.pretrain(data, out=run, recipe="tiny", steps=2, length=32, batch_size=2, report=False)
    shutil.rmtree(run / "model")
    (listed,) = json.loads(inside("runs", tmp_path, "--json").stdout)["runs"]
    (command,) = listed["next"]
    assert f"  {command}\n" in inside("runs", tmp_path).stdout and f"  next  {command}\n" in inside("watch", run).stdout
    done = inside(*shlex.split(command)[1:], "--json", "--seed", 0)
    assert done.returncode == 0 and json.loads(done.stdout)["weights_sha256"] == first.weights_sha256
    refused = inside(*shlex.split(command)[1:], "--recipe", "mini", "--seed", 1)
    said = "--recipe: the run has tiny, asked for mini; --seed: the run has 0, asked for 1; "
    assert refused.returncode == 5 and f"cannot go on: {said}{command} goes on as it was" in refused.stderr
