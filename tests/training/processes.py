"""Several processes that meet, as torchrun starts them, each a fork of one that has already loaded what is heavy.

What a process loads takes it five seconds, and the tests of many processes start dozens. What is torchrun's own work,
starting again and ending all where one fails, is tested under torchrun.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from torch.distributed import TCPStore

LOADED = ("unmask.cli", "unmask.pretraining.request", "unmask.tasks.trials", "unmask.evaluation.tuned.judge")
HOST = "127.0.0.1"
CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(list(LOADED))


@dataclass(frozen=True)
class Started:
    """Processes that are at work, and what they say."""

    processes: list[ForkServerProcess]
    folder: Path
    store: TCPStore | None  # where they meet, for as long as they are at work

    def wait(self, seconds: float = 180.0) -> subprocess.CompletedProcess[str]:
        """What they said, all of them together, and the worst of their exit codes."""
        for process in self.processes:
            process.join(seconds)
        codes = [-signal.SIGKILL if process.exitcode is None else process.exitcode for process in self.processes]
        self.kill()
        out, err = ("".join(file.read_text() for file in sorted(self.folder.glob(f"{name}-*"))) for name in ("1", "2"))
        return subprocess.CompletedProcess([], next((code for code in codes if code), 0), out, err)

    @property
    def at_work(self) -> bool:
        """Whether one of them is."""
        return any(process.is_alive() for process in self.processes)

    def kill(self) -> list[bool]:
        """End all at once; of each whether it was at work until then."""
        alive = [process.is_alive() for process in self.processes]
        for process in self.processes:
            process.kill()
            process.join()
        return alive


def start(
    folder: Path, size: int, words: list[str], *, script: Path | None = None, before: Callable[[], None] | None = None
) -> Started:
    """Start the command line, or a script, in so many processes; `before` is called in each of them first."""
    folder.mkdir(parents=True, exist_ok=True)
    store = None
    shared = {"OMP_NUM_THREADS": "1"}
    if size > 1:  # what torchrun tells them, and where it has them meet
        store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
        shared |= {"MASTER_ADDR": HOST, "MASTER_PORT": str(store.port), "WORLD_SIZE": str(size)}
        shared |= {"LOCAL_WORLD_SIZE": str(size)}
        shared |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
    started = []
    for rank in range(size):
        environment = {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        process = CONTEXT.Process(target=_work, args=(folder, rank, environment, words, script, before))
        process.start()
        started.append(process)
    return Started(started, folder, store)


def run(folder: Path, size: int, words: list[str], **more: object) -> subprocess.CompletedProcess[str]:
    """Start them and wait for what they say."""
    return start(folder, size, words, **more).wait()  # type: ignore[arg-type]


def _work(
    folder: Path,
    rank: int,
    environment: dict[str, str],
    words: list[str],
    script: Path | None,
    before: Callable[[], None] | None,
) -> None:
    os.environ.update(environment)
    for number in (1, 2):
        with (folder / f"{number}-{rank}").open("w") as file:
            os.dup2(file.fileno(), number)
    sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    if before is not None:
        before()
    if script is not None:
        sys.argv = [str(script), *words]
        sys.path.insert(0, str(script.parent))
        runpy.run_path(str(script), run_name="__main__")
        return
    from unmask.cli import main

    main(words)


class Recording:
    """Writes a line for each micro-batch that is trained on: step, number, blocks, hidden positions."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self) -> None:
        from unmask.objectives.mlm import MLM
        from unmask.training import loop

        take_step, outcome, now = loop.take_step, MLM.outcome, [0]

        def take_recorded(*args: Any, step: int, **more: Any) -> Any:
            now[:] = [step]
            return take_step(*args, step=step, **more)

        def outcome_recorded(objective: MLM, learner: Any, batch: Any) -> Any:
            if learner.training:
                with self.file.open("a") as file:
                    file.write(json.dumps([now[0], batch.numbers.tolist(), batch.predicted.tolist()]) + "\n")
            return outcome(objective, learner, batch)

        loop.take_step, MLM.outcome = take_recorded, outcome_recorded  # type: ignore[method-assign]
