"""A run read from its directory: its state, its figures, and the runs below a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unmask.errors import BadInput
from unmask.files import with_seal
from unmask.results import Validation
from unmask.runs.directory import FORMAT, open_run
from unmask.runs.history import find_runs, is_locked, read_history, summarize_run

LINES = [
    {"step": 0, "validation_loss": 6.0, "validation_accuracy": 0.0},
    {"step": 2, "loss": 5.0, "accuracy": 0.1, "lr": 1e-3, "tokens": 200, "tokens_per_second": 100.0},
    {"step": 3, "validation_loss": 4.0, "validation_accuracy": 0.2},
    {"step": 4, "loss": float("nan"), "accuracy": 0.0, "tokens": 600, "tokens_per_second": 200.0, "skipped": True},
    {"step": 6, "validation_loss": 4.5, "validation_accuracy": 0.25},
    {"step": 6, "final_loss": 3.5, "final_accuracy": 0.3},
]


def make(path: Path, lines: list[dict[str, Any]] = LINES, *, steps: int | None = 6, model: bool = True) -> Path:
    """A run directory with these metrics."""
    path.mkdir(parents=True)
    description = {"format": FORMAT, "unmask": "0", "name": "tiny", "steps": steps}
    (path / "run.json").write_text(json.dumps(with_seal(description)))
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if model:
        (path / "model").mkdir()
        (path / "model" / "config.json").write_text("{}")
    return path


def test_figures_lie_where_their_tokens_are(tmp_path: Path) -> None:
    history = read_history(make(tmp_path / "run"))
    assert history.curve("loss") == ([200.0], [5.0])  # what is not finite is left out
    # step 3 is between step 2 with 200 tokens and step 4 with 600; after the last logged step nothing more is known
    assert history.curve("validation_loss") == ([0.0, 400.0, 600.0], [6.0, 4.0, 4.5])
    assert history.curve("nonsense") == ([], [])
    assert history.seconds == 200 / 100 + 400 / 200


def test_a_run_in_figures(tmp_path: Path) -> None:
    run = summarize_run(read_history(make(tmp_path / "run")))
    assert (run.state, run.recipe, run.step, run.steps, run.tokens) == ("finished", "tiny", 6, 6, 600)
    assert run.best == Validation(3, {"loss": 4.0, "accuracy": 0.2})
    assert run.last == Validation(6, {"loss": 4.5, "accuracy": 0.25})
    assert run.final == Validation(6, {"loss": 3.5, "accuracy": 0.3})  # apart: it is of another set of masks
    assert run.tokens_per_second == 150.0 and run.seconds_left is None and run.age >= 0


def test_the_best_is_by_the_figure_and_the_direction_that_the_run_names(tmp_path: Path) -> None:
    lines = [{"step": step, "validation_f1": f1, "validation_loss": 1.0} for step, f1 in ((0, 0.1), (1, 0.4), (2, 0.3))]
    run = make(tmp_path / "run", lines)
    titles = [{"name": "f1", "title": "F1", "better": "more", "percent": True}, {"name": "loss", "title": "Loss"}]
    (run / "run.json").write_text(json.dumps(with_seal({"format": FORMAT, "unmask": "0", "figures": titles})))
    status = summarize_run(read_history(run))
    assert status.best == Validation(1, {"f1": 0.4, "loss": 1.0}) and status.titles[0].name == "f1"


def test_the_state_is_what_the_directory_and_the_lock_say(tmp_path: Path) -> None:
    assert read_history(make(tmp_path / "ended")).state == "finished"
    assert read_history(make(tmp_path / "cut", LINES[:4])).state == "stopped"
    assert read_history(make(tmp_path / "modelless", model=False)).state == "stopped"  # --resume exports it again
    changed = make(tmp_path / "changed")
    (changed / "run.json").write_text((changed / "run.json").read_text().replace("tiny", "mini"))
    assert read_history(changed).state == "damaged" and "its hash does not hold" in read_history(changed).problem
    foreign = make(tmp_path / "foreign")
    (foreign / "run.json").write_text(json.dumps(with_seal({"format": 99, "unmask": "9"})))
    assert read_history(foreign).state == "foreign" and "unmask 9" in read_history(foreign).problem
    with open_run(tmp_path / "ended", {"format": FORMAT, "budget": None}, resume=True):
        assert is_locked(tmp_path / "ended") and read_history(tmp_path / "ended").state == "running"
        assert summarize_run(read_history(tmp_path / "ended")).seconds_left == 2 * 150 / 150
    assert not is_locked(tmp_path / "ended")


def test_a_killed_process_holds_no_lock(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from unmask.runs.directory import open_run\n"
        "with open_run(Path(sys.argv[1]), {}, resume=False): print('in', flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", script, str(tmp_path / "run")]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None and process.stdout.readline() == b"in\n"
        # it has only begun: there is a lock, and no description yet
        assert summarize_run(read_history(tmp_path / "run")).state == "running" and list(find_runs([tmp_path])) == [
            tmp_path / "run"
        ]
        process.kill()
    assert not is_locked(tmp_path / "run") and list(find_runs([tmp_path])) == []
    with pytest.raises(BadInput, match="is not a run directory"):
        read_history(tmp_path / "run")


@pytest.mark.parametrize("harm", ["index", "weights"])
def test_a_run_without_a_checkpoint_that_looks_whole_is_damaged(tmp_path: Path, harm: str) -> None:
    run = make(tmp_path / "run", LINES[:4], model=False)
    for step in (2, 4):
        place = run / "checkpoints" / f"step-{step:07d}"
        place.mkdir(parents=True)
        (place / "checkpoint.json").write_text(json.dumps(with_seal({"step": step})))
        for name in ("model.safetensors", "optimizer.safetensors"):
            (place / name).write_bytes(b"")
    assert read_history(run).state == "stopped"
    for place in (run / "checkpoints").iterdir():
        if harm == "index":
            (place / "checkpoint.json").write_text(json.dumps({"step": 2, "seal": "0"}))
        else:
            (place / "model.safetensors").unlink()
    assert read_history(run).state == "damaged" and "every checkpoint is damaged" in read_history(run).problem


def test_lines_that_are_not_whole_or_not_ours_are_passed_over(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(
            b'[1]\n{"step": "x"}\n{"step": 7, "tokens": "many"}\n{"step": 8, "validation_loss": null}\n\xff\n{"st'
        )
    history = read_history(run)
    assert len(history.step_lines) == 2 and len(history.validation_lines) == 3
    assert summarize_run(history).tokens == 600
    (run / "metrics.jsonl").unlink()
    empty = summarize_run(read_history(run))
    assert (empty.step, empty.best, empty.figures, empty.state) == (0, None, {}, "stopped")


def test_runs_are_found_below_folders_once_and_not_inside_each_other(tmp_path: Path) -> None:
    for name in ("b", "a/deep/er", "a/deep/er/inner", ".hidden/run"):
        make(tmp_path / name)
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    found = list(find_runs([tmp_path, tmp_path / "a", tmp_path / "b"]))
    assert sorted(os.path.relpath(path, tmp_path) for path in found) == ["a/deep/er", "b"]
    with pytest.raises(BadInput, match="nowhere: is not a folder"):
        list(find_runs([tmp_path / "nowhere"]))


def test_a_run_that_was_asked_to_stop_is_told_from_one_that_may_have_died(tmp_path: Path) -> None:
    stop = {"step": 4, "stopped": True}
    died = read_history(make(tmp_path / "died", LINES[:4], model=False))
    asked = read_history(make(tmp_path / "asked", [*LINES[:4], stop], model=False))
    went_on = read_history(make(tmp_path / "on", [*LINES[:4], stop, LINES[4]], model=False))
    assert [history.state for history in (died, asked, went_on)] == ["stopped"] * 3
    assert [history.stopped_in_order for history in (died, asked, went_on)] == [False, True, False]
    assert summarize_run(asked).stopped_in_order
    assert asked.curve("stopped") == ([], [])
