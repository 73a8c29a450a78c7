"""What a live view costs the training that is looked at: steps with a page open beside steps without, in turns.

    python benchmarks/live_view.py data
    python benchmarks/live_view.py data --recipe tiny --intervals 12 --seconds 8

A run is trained by the command, and served by the command, as users do. For some seconds a view is open, which looks at
the run every two seconds as the page does and is given its curves, for as many it is shut, and so on; which comes first
changes. A step's seconds are those that the run itself logs, and each interval is compared with its neighbour: the
ratio of their medians is what a view costs. Beside it stands how much of all processors the server took meanwhile,
which others on the machine do not change.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import tyro
from pages import Client, served
from turns import Spread

LOOK = 2.0  # seconds between two looks of a page
PATIENCE = 600.0  # seconds for the first steps


class Interval(NamedTuple):
    """Some seconds of a training."""

    watched: bool
    step_seconds: float  # the median
    steps: int
    server: float  # processor seconds of the server
    seconds: float


def read_steps(metrics: Path) -> list[dict[str, Any]]:
    """The lines of steps that are whole."""
    if not metrics.exists():
        return []
    lines = metrics.read_text(encoding="utf-8").split("\n")[:-1]
    return [line for line in map(json.loads, lines) if "tokens_per_second" in line]


def step_seconds(lines: list[dict[str, Any]]) -> list[float]:
    """How long each step took, from how many tokens there were more and how many a second.

    >>> step_seconds([{"tokens": 100, "tokens_per_second": 50.0}, {"tokens": 160, "tokens_per_second": 30.0}])
    [2.0]
    """
    pairs = pairwise(lines)
    return [(line["tokens"] - before["tokens"]) / line["tokens_per_second"] for before, line in pairs]


def processor_seconds(process: int) -> float:
    """What a process has taken of all processors so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spend(seconds: float, metrics: Path, serving: dict[str, Any], *, watched: bool) -> Interval:
    """Some seconds with a view that is open, or shut."""
    client, seen = Client(serving), ""
    before, used = len(read_steps(metrics)), processor_seconds(serving["process"])
    begun = time.monotonic()
    while (left := begun + seconds - time.monotonic()) > 0:
        if watched:
            _, body, _ = client.ask(f"/api/runs/run?seen={seen}")
            seen = json.loads(body)["version"]
        time.sleep(min(LOOK, left))
    spent = time.monotonic() - begun
    used = processor_seconds(serving["process"]) - used
    lines = read_steps(metrics)[max(0, before - 1) :]
    times = step_seconds(lines)
    if not times:
        raise SystemExit(f"no step was logged within {seconds:g} seconds; give more --seconds, or a smaller --recipe")
    return Interval(watched, statistics.median(times), len(times), used, spent)


def cost(intervals: list[Interval]) -> Spread:
    """How many times as long a step takes that is watched, in each pair of neighbours."""
    pairs = zip(intervals[::2], intervals[1::2], strict=True)
    watched = [(one, other) if one.watched else (other, one) for one, other in pairs]
    return Spread.of([with_view.step_seconds / without.step_seconds for with_view, without in watched])


def main(data: Path, /, recipe: str = "mini", intervals: int = 24, seconds: float = 20.0) -> None:
    """Train, look, and say what looking costs."""
    pairs = max(1, intervals // 2)
    with tempfile.TemporaryDirectory(prefix="unmask-live-") as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "unmask", "pretrain", str(data), "--out", str(run), "--recipe", recipe]
        command += ["--steps", "1000", "--save-seconds", "3600", "--no-report"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as training:
            try:
                deadline = time.monotonic() + PATIENCE
                while len(read_steps(run / "metrics.jsonl")) < 5:
                    if training.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit("the training did not begin; try its command: " + " ".join(command))
                    time.sleep(0.5)
                with served(run) as serving:
                    measured = []
                    for number in range(pairs):
                        order = (True, False) if number % 2 else (False, True)
                        measured += [spend(seconds, run / "metrics.jsonl", serving, watched=each) for each in order]
                        if training.poll() is not None:
                            raise SystemExit("the training ended too soon; give fewer --intervals or --seconds")
            finally:
                training.terminate()
    say(measured, recipe)


def say(measured: list[Interval], recipe: str) -> None:
    """What came out."""
    with_view = [each for each in measured if each.watched]
    share = sum(each.server for each in with_view) / sum(each.seconds for each in with_view)
    steps = sum(each.steps for each in measured)
    print(f"{recipe}: {steps} steps in {len(measured)} intervals of {measured[0].seconds:.0f} s, half of them watched")
    print(f"a step that is watched takes {cost(measured):.4f} times as long (median and quartiles of neighbours)")
    print(f"the server takes {share / (os.cpu_count() or 1):.2%} of {os.cpu_count()} processors while a view is open")


if __name__ == "__main__":
    tyro.cli(main)
