"""Contenders taking turns, each in a process of its own, so that a busy machine slows all of them alike.

In: functions that do one thing again and again and call `turn()` after each time. Out: the seconds of every time.
Processes of their own, because what one side asks of the allocator must not be a gift to the other.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Literal

Turn = Callable[[], None]
Clock = Literal[
    "wall", "processor"
]  # the second leaves out what others did meanwhile: for machines that are never quiet
CLOCKS: dict[Clock, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}
THREADS: dict[Clock, int] = {"wall": 2, "processor": 1}  # threads that wait for each other work too, to that clock
Seconds = dict[str, list[float]]  # of every turn, by contender
Contender = Callable[[Turn], None]  # must be importable where it is started again: a function, or a partial of one

# Waiting threads of OpenMP spin; those of a contender whose turn it is not must not take the other's processors.
ENVIRONMENT = {"GOMP_SPINCOUNT": "10000", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """Of some values."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        return cls(low, median, high)

    def __format__(self, how: str) -> str:
        return f"{self.median:{how}} ({self.low:{how}}–{self.high:{how}})"


def race(
    contenders: Mapping[str, Contender], rounds: int = 12, warm: int = 3, threads: int = 2, clock: Clock = "wall"
) -> Seconds:
    """Seconds of each contender's turns, in rounds; the first few rounds warm up."""
    os.environ.update(ENVIRONMENT, OMP_NUM_THREADS=str(threads))
    context = get_context("spawn")
    lines: dict[str, Connection] = {}
    processes = []
    try:
        for name, contender in contenders.items():
            lines[name], theirs = context.Pipe()
            process = context.Process(target=_take_part, args=(contender, theirs, clock), daemon=True)
            process.start()
            theirs.close()
            processes.append(process)
            lines[name].recv()  # one after the other: ready before the next is built
        seconds: Seconds = {name: [] for name in lines}
        for number in range(warm + rounds):
            for name, line in lines.items():
                line.send(True)
                took = line.recv()
                if number >= warm:
                    seconds[name].append(took)
        return seconds
    finally:
        for line in lines.values():
            line.close()
        for process in processes:
            process.join(10)
            process.kill()


def _take_part(contender: Contender, line: Connection, clock: Clock) -> None:
    now = CLOCKS[clock]
    begun: float | None = None

    def turn() -> None:
        nonlocal begun
        line.send(None if begun is None else now() - begun)
        try:
            line.recv()
        except EOFError:  # the race is over
            raise SystemExit from None
        begun = now()

    contender(turn)


def ratios(seconds: Seconds, slow: str, fast: str) -> Spread:
    """How many times as long the slow one takes, within each round."""
    return Spread.of([a / b for a, b in zip(seconds[slow], seconds[fast], strict=True)])
