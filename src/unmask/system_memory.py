"""How much memory this process may take.

In: nothing. Out: bytes of memory. A container has what it is allowed, and not what its host has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# where Linux says what a container may take, in its newer and its older way
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def own_memory_bytes() -> int:
    """Bytes of memory for this process: its part, where torchrun has started several on the machine."""
    return memory_bytes() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def memory_bytes() -> int:
    """Bytes of memory that the processes of this machine may take."""
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_limits()])


def _limits() -> Iterator[int]:
    """What a container may take, as often as its system says so."""
    for path in LIMITS:
        with suppress(OSError, ValueError):  # not Linux, or "max"
            yield int(path.read_text(encoding="ascii"))
