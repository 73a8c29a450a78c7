"""Runs of the command line in processes of their own, to be disturbed: forked from one that has loaded everything."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # a process with threads cannot be forked

import unmask.pretraining.pretrain
from unmask import cli

assert unmask.pretraining.pretrain  # loaded once for all
TEXT = "the king sees a small house in winter and nobody remembers why it rains every day"
STEPS = 24
WORDS = ["--recipe", "tiny", "--length", "32", "--batch-size", "8", "--micro-batch", "4", "--no-report"]
WORDS += ["--steps", str(STEPS)]
SAVING = ["--save-seconds", "0"]


class Child:
    """A process that runs the command line with these words, and what it wrote."""

    def __init__(self, words: list[str], output: Path, limit: Callable[[], None] = lambda: None) -> None:
        self.output = output
        self.returncode: int | None = None
        for suffix in (".out", ".err"):
            output.with_suffix(suffix).touch()
        self.pid = os.fork()
        if self.pid == 0:
            for handle, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(output.with_suffix(f".{name}"), os.O_WRONLY), handle)
            limit()
            try:
                cli.main(words)
            except SystemExit as leaving:
                sys.stdout.flush()
                os._exit(int(leaving.code or 0))
            finally:
                os._exit(1)

    def poll(self) -> int | None:
        """The exit code, negative for a signal, when it is over."""
        if self.returncode is None and (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(ended[1])
        return self.returncode

    def send(self, number: int) -> None:
        """A signal, if it is still there."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def ended(self) -> tuple[int, dict[str, str], str]:
        """Wait for the end: the exit code, the answer and what was said."""
        while (code := self.poll()) is None:
            time.sleep(0.002)
        answer, said = (self.output.with_suffix(suffix).read_text() for suffix in (".out", ".err"))
        return code, json.loads(answer) if answer.strip() else {}, said


@dataclass
class Place:
    """A text, its data directory, and the weights of the run that nothing happens to."""

    folder: Path
    weights: str = ""
    started: int = 0

    @classmethod
    def make(cls, folder: Path) -> Place:
        draw = random.Random(0)
        words = TEXT.split()
        texts = [" ".join(draw.choice(words) for _ in range(draw.randint(30, 200))) for _ in range(300)]
        (folder / "text.txt").write_text("\n\n".join(texts))
        subprocess.run(
            [sys.executable, "-m", "unmask", "prepare", folder / "text.txt", "--out", folder / "data"],
            check=True,
            capture_output=True,
        )
        place = cls(folder)
        code, answer, said = place.train("whole")
        assert code == 0, said
        place.weights = answer["weights_sha256"]
        return place

    def command(self, run: str, *more: str) -> list[str]:
        data, out = str(self.folder / "data"), str(self.folder / run)
        return ["pretrain", data, "--out", out, "--json", *WORDS, *SAVING, *more]

    def start(self, run: str, *more: str, limit: Callable[[], None] = lambda: None) -> Child:
        self.started += 1
        return Child(self.command(run, *more), self.folder / f"{self.started}.said", limit)

    def train(self, run: str, *more: str, limit: Callable[[], None] = lambda: None) -> tuple[int, dict[str, str], str]:
        return self.start(run, *more, limit=limit).ended()

    def saved(self, run: str) -> int:
        """The newest step that was saved under its name."""
        return max((int(path.name[5:]) for path in (self.folder / run / "checkpoints").glob("step-*")), default=0)

    def logged(self, run: str) -> int:
        """The last step that was logged."""
        try:
            lines = (self.folder / run / "metrics.jsonl").read_text().splitlines()
        except FileNotFoundError:
            return 0
        return max((json.loads(line)["step"] for line in lines if line.endswith("}")), default=0)
