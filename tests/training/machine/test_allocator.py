"""What is freed is kept for the next step, until there is too much of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

TAKE_AND_FREE = """
import sys
import torch
from unmask.training.machine import allocator
from unmask.training.machine.allocator import give_back_when_full, keep_large_blocks, resident_bytes

allocator.own_memory_bytes = lambda: int(sys.argv[1])
assert keep_large_blocks()
before = resident_bytes()
blocks = [torch.ones(2**20) for _ in range(100)]
held = blocks[-1]  # above what is freed, which cannot be given back from the end then
full = resident_bytes()
del blocks
kept = resident_bytes()
given = give_back_when_full()
print(full - before, kept - before, given, resident_bytes() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the C library is another")
@pytest.mark.parametrize(("memory", "is_full"), [(2**30 // 2, True), (2**40, False)])
def test_what_is_free_is_given_back_where_the_machine_is_half_full_and_not_before(memory: int, is_full: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TAKE_AND_FREE, str(memory)], capture_output=True, text=True, check=True
    )
    full, kept, given, left = done.stdout.split()
    assert int(full) > 380 * 2**20 and int(kept) > 380 * 2**20
    assert given == str(is_full) and (int(left) < 40 * 2**20) is is_full
