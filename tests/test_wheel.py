"""What is built is what works: the wheel, installed where the clone is not in sight."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "unmask"
JOURNEY = """
import unmask

unmask.prepare("text.txt", out="data", vocab_size=300, valid=0.1)
trained = unmask.pretrain("data", out="run", recipe="tiny", steps=2)
(filled,) = unmask.fill("run", "The king sees the [MASK].")
print(unmask.__file__, trained.steps, filled.completed, sep="\\n")
"""


def run(*words: object, cwd: Path) -> str:
    """What a command says, for somebody whose paths lead to nothing of the clone."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, words)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of a copy, for building leaves things behind."""
    place = tmp_path_factory.mktemp("wheel")
    shutil.copytree(PACKAGE, place / "src" / "unmask", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "built", ".", cwd=place)
    (built,) = (place / "built").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the wheel, and what it depends on from this one."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place / "venv", with_pip=False, symlinks=True)
    python = place / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "-q", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=place)
    # A path in a .pth file is searched, but the .pth files in it are not read: that of an editable install neither.
    (theirs,) = (place / "venv" / "lib").glob("python*/site-packages")
    ours = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (theirs / "dependencies.pth").write_text("\n".join(ours), encoding="utf-8")
    return python


def test_the_wheel_has_every_file_of_the_package_and_the_licence(wheel: Path) -> None:
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    there = set(zipfile.ZipFile(wheel).namelist())
    assert {str(path.relative_to(PACKAGE.parent)) for path in files} == {x for x in there if x.startswith("unmask/")}
    assert {"unmask/py.typed", "unmask/evaluation/probe_items.jsonl"} <= {*there}
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in there)


@pytest.mark.slow
def test_what_is_installed_works_outside_the_clone(installed: Path, corpus: Path, tmp_path: Path) -> None:
    shutil.copy(corpus, tmp_path / "text.txt")
    assert "usage: unmask COMMAND" in run(installed.with_name("unmask"), "--help", cwd=tmp_path)
    file, steps, completed = run(installed, "-c", JOURNEY, cwd=tmp_path).splitlines()
    assert Path(file).is_relative_to(installed.parents[1])
    assert steps == "2" and completed.startswith("The king sees the")
