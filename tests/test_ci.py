"""The pages are looked at wherever that can be, and it is said in one line where it cannot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
APT = ["apt-get update -qq", "apt-get install -y -qq chromium"]
LEFT_OUT = "the pages are not looked at: there is no chromium (Debian: apt-get install chromium)"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of programs, which is all that there is: those that are recorded, a few real ones and no chromium."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "head", "make", "sh"):
        (tools / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    record(tools, "id", "echo 0")
    return tools


def record(tools: Path, name: str, then: str = "") -> None:
    """A program that writes down how it was called, and does as it is told."""
    (tools / name).unlink(missing_ok=True)
    (tools / name).write_text(f'#!/bin/sh\necho "${{0##*/}} $*" >> "{tools.parent}/called"\n{then}\n', encoding="utf-8")
    (tools / name).chmod(0o755)


def called(tools: Path) -> list[str]:
    lines = (tools.parent / "called").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("id ")]


def run(tools: Path, *words: object) -> subprocess.CompletedProcess[str]:
    line = [str(word) for word in words]
    return subprocess.run(
        line, env={"PATH": str(tools)}, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )


@pytest.mark.parametrize(
    ("there", "apt", "calls", "said"),
    [
        ((), "", [*APT, "make test"], ""),
        (("chromium",), "", ["make test"], ""),
        ((), "exit 100", [APT[0], "make test"], "chromium cannot be installed: the pages are not looked at\n"),
    ],
    ids=["without", "with", "cut off"],
)
def test_the_check_of_a_change_gets_chromium_where_there_is_none_and_goes_on_without(
    machine: Path, there: tuple[str, ...], apt: str, calls: list[str], said: str
) -> None:
    for name in ("make", *there):
        record(machine, name)
    record(machine, "apt-get", apt)
    done = run(machine, "bash", ROOT / ".ci" / "run")
    assert (called(machine), done.stdout) == (calls, said)


def test_make_test_says_in_one_line_that_the_pages_are_left_out_and_how_to_get_them(machine: Path) -> None:
    for name in ("ruff", "mypy", "pytest"):
        record(machine, name)
    (machine / "ready").touch()
    line = ("make", "test", f"BIN={machine}", f"READY={machine / 'ready'}", "MAKEFLAGS=-s")
    assert run(machine, *line).stdout.splitlines() == [LEFT_OUT]
    record(machine, "chromium")
    assert run(machine, *line).stdout == ""
    assert [call.split()[0] for call in called(machine)] == 2 * ["ruff", "ruff", "mypy", "pytest"]
