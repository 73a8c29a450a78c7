"""What a machine has: a container has what it is allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unmask import system_memory
from unmask.system_memory import memory_bytes, own_memory_bytes


def test_memory_is_the_machines_or_what_a_container_may_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    all_of_it = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(system_memory, "LIMITS", (limit, tmp_path / "nothing"))
    for text, memory in ((None, all_of_it), ("max\n", all_of_it), ("1048576\n", 2**20), (str(2**63), all_of_it)):
        if text is not None:
            limit.write_text(text)
        assert memory_bytes() == memory


def test_processes_of_torchrun_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert own_memory_bytes() == memory_bytes()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert own_memory_bytes() == memory_bytes() // 4
