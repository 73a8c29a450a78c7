"""Which engine runs the function over parts, and the one way to have it run.

In: a function, parts and an engine. Out: what the function gives for each part, in the order of the parts. The function
is pure and writes where it is told, so that the engine decides who works and nothing that comes out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from unmask.corpus.parts import Part
from unmask.errors import BadInput

ENGINES = ("local", "ray")

Report = Callable[[int, int], object]  # hears of bytes that were read, and of documents
Work = Callable[[Part, Report], Any]  # a function over a part, which can be pickled


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Who reads parts: so many processes here, or a Ray cluster."""

    kind: str = "local"
    processes: int | None = None  # none: as many as there are cores
    ray_address: str | None = None  # none: a Ray of this machine's own, for as long as it is needed

    def __post_init__(self) -> None:
        if self.kind not in ENGINES:
            raise BadInput(f"engine {self.kind!r}: there are {' and '.join(ENGINES)}")
        if self.processes is not None and self.processes < 1:
            raise BadInput(f"processes is {self.processes}: give 1 or more")
        if self.ray_address is not None and self.kind != "ray":
            raise BadInput(f"ray_address {self.ray_address}: is for --engine ray")

    @property
    def cores(self) -> int:
        """How many processes of this machine read at a time."""
        return self.processes or (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )


def run_parts(work: Work, parts: Sequence[Part], engine: Engine, report: Report) -> list[Any]:
    """What `work` gives for each part, in their order; what only this process can read is read by it."""
    elsewhere = [part for part in parts if not part.here]
    results: dict[int, Any] = {}
    if engine.kind == "ray":
        from unmask.corpus.engines.ray_tasks import run_on_ray

        results.update(run_on_ray(work, elsewhere, engine.ray_address, report))
    elif min(engine.cores, len(elsewhere)) > 1:
        from unmask.corpus.engines.processes import run_in_processes

        results.update(run_in_processes(work, elsewhere, min(engine.cores, len(elsewhere)), report))
    for part in parts:
        if part.number not in results:
            results[part.number] = work(part, report)
    return [results[part.number] for part in parts]
