"""Memory that is kept between steps instead of being given back and taken again.

glibc returns large blocks to the kernel when they are freed, and each step would take them again: hundreds of
thousands of page faults, a third of a small step. Raising its thresholds keeps them.
"""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST = 2**31 - 1  # the thresholds are C ints


def keep_large_blocks() -> bool:
    """Tell glibc to keep what is freed; false where the C library is another."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, 2**30)) and bool(mallopt(M_TRIM_THRESHOLD, LARGEST))
