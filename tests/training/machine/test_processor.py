"""A processor that promises a matrix unit is tried before it is trusted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.training.machine import processor


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv(processor.LIMIT, raising=False)
    monkeypatch.setattr(processor, "half_precision_works", processor.half_precision_works.__wrapped__)
    return monkeypatch


def test_a_trial_that_is_killed_holds_the_unit_back(untried: pytest.MonkeyPatch) -> None:
    untried.setattr(processor, "_shows_amx", lambda: True)
    untried.setattr(processor, "TRIAL", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    untried.setenv(processor.LIMIT, "")  # so that it is put back afterwards
    untried.delenv(processor.LIMIT)
    assert not processor.half_precision_works()
    assert os.environ[processor.LIMIT] == processor.WITHOUT_AMX


def test_a_trial_that_comes_back_and_a_processor_without_the_unit_change_nothing(untried: pytest.MonkeyPatch) -> None:
    for shows, trial in ((True, "pass"), (False, "raise SystemExit(9)")):
        untried.setattr(processor, "_shows_amx", lambda shows=shows: shows)
        untried.setattr(processor, "TRIAL", trial)
        assert processor.half_precision_works() and processor.LIMIT not in os.environ


def test_after_it_a_process_multiplies_in_half_precision_here() -> None:
    code = "from unmask.training.machine.processor import half_precision_works as tried; tried()\n"
    environment = {name: value for name, value in os.environ.items() if name != processor.LIMIT}
    done = subprocess.run([sys.executable, "-c", code + processor.TRIAL], env=environment, cwd=Path.home())
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("said", "able"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16 sse\n", True),
        ("flags\t\t: fpu avx512f amx_bf16\n", True),
        ("Features\t: fp asimd bf16 i8mm\n", True),
        ("flags\t\t: fpu avx2 avx512f\nmodel name\t: A bf16 processor\n", False),
        ("", False),
    ],
)
def test_what_a_processor_multiplies_is_read_from_its_flags(
    said: str, able: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "_cpu_info", lambda: said)
    assert processor.multiplies_bfloat16() is able
