"""Parts read by processes of this machine.

In: a function and parts. Out: what it gives for each, as they are done. Each process has one part in hand. One that
dies (killed, out of memory) is started again with the part it had; a part that keeps killing its process is named.

The processes are started as commands of their own, so that a script which calls the library needs no guard around it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any

from unmask.corpus.engines.engine import Report, Work
from unmask.corpus.parts import Part
from unmask.errors import UnmaskError
from unmask.progress import say

ATTEMPTS = 3  # deaths of processes over one part


class PartProcess:
    """One process, from this side, and the part it has in hand."""

    def __init__(self, work: Work) -> None:
        self.pipe, other = Pipe()
        self.part: Part | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "unmask.corpus.engines.worker", str(other.fileno())],
            pass_fds=[other.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # One thread each: there is a process for every core.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for the one who was started
        )
        other.close()
        self.pipe.send(work)

    def give(self, part: Part) -> None:
        """Have a part worked on."""
        self.part = part
        with suppress(BrokenPipeError):  # noticed when the answer is waited for
            self.pipe.send(part)

    def end(self) -> int:
        """End the process, whatever it does."""
        self._process.kill()
        self.pipe.close()
        if self._process.stdin:
            self._process.stdin.close()
        return self._process.wait()


def run_in_processes(work: Work, parts: Sequence[Part], count: int, report: Report) -> Iterator[tuple[int, Any]]:
    """The number of each part and what came of it, as they are done."""
    waiting, deaths = deque(parts), Counter[int]()
    busy: dict[Any, PartProcess] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < count:
                _start(work, waiting.popleft(), busy)
            for pipe in wait(list(busy)):
                process = busy[pipe]
                assert process.part is not None
                try:
                    kind, *answer = process.pipe.recv()
                except (EOFError, OSError):
                    _again(process, work, busy, deaths)
                    continue
                if kind == "progress":
                    report(*answer)
                elif kind == "error":
                    raise answer[0]
                else:
                    yield process.part.number, answer[0]
                    if waiting:
                        process.give(waiting.popleft())
                    else:
                        busy.pop(pipe).end()
    finally:
        for process in busy.values():
            process.end()


def _start(work: Work, part: Part, busy: dict[Any, PartProcess]) -> None:
    process = PartProcess(work)
    busy[process.pipe] = process
    process.give(part)


def _again(process: PartProcess, work: Work, busy: dict[Any, PartProcess], deaths: Counter[int]) -> None:
    """Start a process again that is gone, with its part."""
    part = busy.pop(process.pipe).part
    code = process.end()
    assert part is not None
    deaths[part.number] += 1
    name = part.sources[0].name + (" …" if len(part.sources) > 1 else "")
    if deaths[part.number] == ATTEMPTS:
        raise UnmaskError(
            f"{name}: the process that reads it was ended {ATTEMPTS} times (code {code}); is there enough memory? "
            "fewer --processes take less"
        )
    say(f"a process that read {name} is gone (code {code}), and was started again")
    _start(work, part, busy)
