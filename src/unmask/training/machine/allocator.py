"""Memory that is kept between steps instead of being given back and taken again, as long as there is enough of it.

glibc returns large blocks to the kernel when they are freed, and each step would take them again: hundreds of
thousands of page faults, a third of a small step. Raising its thresholds keeps them. Where steps differ in shape, as
with texts of all lengths, what is kept fits badly and there is ever more of it: beyond half of the machine's memory
what is free is given back.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path

from unmask.system_memory import own_memory_bytes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST = 2**31 - 1  # the thresholds are C ints
FULL = 0.5  # of its part of the memory
STATUS = Path("/proc/self/statm")  # pages: all, and those in memory


def keep_large_blocks() -> bool:
    """Tell glibc to keep what is freed; false where the C library is another."""
    library = _glibc()
    if library is None:
        return False
    return bool(library.mallopt(M_MMAP_THRESHOLD, 2**30)) and bool(library.mallopt(M_TRIM_THRESHOLD, LARGEST))


def give_back_when_full() -> bool:
    """Give what is free back to the kernel if this process has half of its memory or more; whether it did so."""
    library = _glibc()
    if library is None or resident_bytes() <= FULL * own_memory_bytes():
        return False
    return bool(library.malloc_trim(0))


def resident_bytes() -> int:
    """Bytes of this process that are in memory."""
    return int(STATUS.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is that of GNU."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL("libc.so.6")
        return library if library.mallopt and library.malloc_trim else None
    except (OSError, AttributeError):
        return None
