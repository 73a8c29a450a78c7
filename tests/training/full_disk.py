"""A disk that is full, without filling one: files cannot grow, and writing fails with EFBIG in place of ENOSPC.

What Python compiles meanwhile would be cut short too, and be read so ever after: it is not kept.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def limit_files(size: int) -> None:
    """No file of this process, nor of those that it starts, is longer than that from now on."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """While open, no file is longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode, dict(os.environ)
    limit_files(size)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before[0])
        sys.dont_write_bytecode = before[1]
        os.environ.pop("PYTHONDONTWRITEBYTECODE")
        os.environ.update(before[2])
