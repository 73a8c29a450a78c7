"""Figures for TensorBoard, read back by TensorBoard."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from unmask.errors import BadInput
from unmask.runs.tensorboard import Events, check_installed

LINES = [
    {"step": 0, "validation_loss": 9.0},
    {"step": 1, "loss": 8.0, "tokens": 10, "skipped": True, "rows": [1, 2]},
    {"step": 2, "loss": float("nan"), "tokens": 20},
    {"step": 2, "validation_loss": 7.0},
]


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    read = EventAccumulator(str(run / "tensorboard"))
    read.Reload()
    return {name: [(each.step, each.value) for each in read.Scalars(name)] for name in read.Tags()["scalars"]}


def told(run: Path, lines: list[dict[str, object]]) -> None:
    """Log these lines as a run does: first in the metrics, then as events."""
    events = Events(run, run / "metrics.jsonl")
    for line in lines:
        with (run / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        events.add(line)
    events.close()


def test_what_is_a_finite_number_becomes_a_curve_and_nothing_else_does(tmp_path: Path) -> None:
    told(tmp_path, LINES)
    assert scalars(tmp_path) == {
        "loss/held_out": [(0, 9.0), (2, 7.0)],
        "loss/training": [(1, 8.0)],
        "tokens/training": [(1, 10.0), (2, 20.0)],
    }


def test_going_on_writes_no_step_twice(tmp_path: Path) -> None:
    told(tmp_path, LINES)
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES[:2]))  # rewound
    told(tmp_path, [{"step": 2, "loss": 6.0, "tokens": 20}])
    assert scalars(tmp_path)["loss/training"] == [(1, 8.0), (2, 6.0)]
    assert scalars(tmp_path)["loss/held_out"] == [(0, 9.0)]


def test_a_run_that_logs_nothing_leaves_the_events_alone(tmp_path: Path) -> None:
    Events(tmp_path, tmp_path / "metrics.jsonl").close()
    assert not (tmp_path / "tensorboard").exists()


def test_without_tensorboard_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(BadInput, match=r"pip install 'unmask\[tensorboard\]'"):
        check_installed()
