"""Computing that is tried again in smaller parts."""

from __future__ import annotations

import pytest
import torch

from unmask.errors import BadInput
from unmask.training.machine.memory import out_of_memory, split_to_fit


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried to …"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("MPS backend out of memory"),
    ],
)
def test_parts_are_doubled_until_they_fit(error: Exception) -> None:
    tried: list[int] = []
    again: list[int] = []

    def compute(parts: int) -> str:
        tried.append(parts)
        if parts < 4:
            raise error
        return "done"

    assert out_of_memory(error)
    assert split_to_fit(compute, lambda: again.append(1), splits=1, rows=8) == (4, "done")
    assert tried == [1, 2, 4] and len(again) == 2


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    def compute(_parts: int) -> None:
        raise RuntimeError("shape mismatch")

    with pytest.raises(RuntimeError, match="shape mismatch"):
        split_to_fit(compute, lambda: None, splits=1, rows=8)


def test_where_one_row_does_not_fit_that_is_said() -> None:
    def compute(_parts: int) -> None:
        raise MemoryError

    with pytest.raises(BadInput, match=r"not even one row can be trained on by itself; .* smaller --length"):
        split_to_fit(compute, lambda: None, splits=1, rows=6)
