"""Parts read by the tasks of a Ray cluster (pip install 'unmask[ray]').

In: a function and parts. Out: what it gives for each, as they are done. It is the function that processes of this
machine run, so the bytes are the same. A task whose worker or machine is gone is tried again by Ray. Sources and the
data directory are at the same paths on all machines: a shared file system.

Ray sends reports on its use to its makers unless told otherwise: it is told, here and on the workers.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unmask.corpus.engines.engine import Report, Work
from unmask.corpus.parts import Part
from unmask.errors import BadInput, Lost

RETRIES = 3
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_USAGE_STATS_PROMPT_ENABLED": "0", "OMP_NUM_THREADS": "1"}


def run_on_ray(work: Work, parts: Sequence[Part], address: str | None, report: Report) -> Iterator[tuple[int, Any]]:
    """The number of each part and what came of it, as they are done."""
    if find_spec("ray") is None:
        raise BadInput("--engine ray needs Ray: pip install 'unmask[ray]'")
    os.environ.update({name: value for name, value in QUIET.items() if name.startswith("RAY")})
    ray: Any = import_module("ray")  # whose functions have no types

    begun = not ray.is_initialized()
    if begun:
        _connect(ray, address)
    try:
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(work_in_folder)
        # Twice as many as are worked on: enough that nobody waits, and few to lose sight of.
        most = max(2, 2 * int(ray.cluster_resources().get("CPU", 1)))
        waiting, busy = iter(parts), dict[Any, Part]()
        while True:
            while len(busy) < most and (part := next(waiting, None)) is not None:
                busy[remote.remote(work, part, str(Path.cwd()))] = part
            if not busy:
                return
            for task in ray.wait(list(busy), num_returns=1)[0]:
                part = busy.pop(task)
                yield part.number, _result(ray, task, part)
                report(part.size, 0)
    finally:
        if begun:
            ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    try:
        if address and re.fullmatch(r"[^/]+:\d+", address):  # where nobody answers, Ray itself asks for minutes
            host, port = address.rsplit(":", 1)
            socket.create_connection((host, int(port)), timeout=5).close()
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="error",
            runtime_env={"env_vars": QUIET},
            **({} if address else {"include_dashboard": False}),
        )
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"--ray-address {address}: no Ray there ({reason}); start one with: ray start --head") from error


def _result(ray: Any, task: Any, part: Part) -> Any:
    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        name = part.sources[0].name
        raise Lost(f"{name}: Ray lost the worker that read it {RETRIES + 1} times ({type(error).__name__})") from error


def work_in_folder(work: Work, part: Part, folder: str) -> Any:
    """Work on a part in the folder that paths are relative to, on whichever machine."""
    os.chdir(folder)
    return work(part, lambda count, documents: None)
