"""What the README says is what happens."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.errors import EXIT_CODES

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def block(after: str, language: str) -> str:
    """The first block of code in this language after a heading."""
    found = re.search(rf"^{re.escape(after)}$.*?^```{language}\n(.*?)^```", README, re.M | re.S)
    assert found, f"no {language} under {after!r}"
    return found[1]


@pytest.fixture
def place(tmp_path: Path, corpus: Path) -> Path:
    """A directory as the reader of the README has it."""
    documents = corpus.read_text(encoding="utf-8").split("\n\n")
    (tmp_path / "my_texts").mkdir()
    (tmp_path / "my_texts" / "some.txt").write_text("\n\n".join(documents[:300]), encoding="utf-8")
    with gzip.open(tmp_path / "more.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in documents[300:])
    return tmp_path


def run(words: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(words, cwd=place, env={**os.environ, "PATH": path}, text=True, capture_output=True)


def test_its_commands_do_what_they_say(place: Path) -> None:
    commands = block("## The journey with your own text", "sh").splitlines()
    assert [line.split()[1] for line in commands] == ["prepare", "verify", "pretrain", "evaluate", "fill"]
    for line in commands:
        quick = line.replace("--minutes 10", "--steps 3").replace("mini", "tiny")  # all but the time it takes
        done = run(shlex.split(quick), place)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
    assert "The capital of France is" in done.stdout


def test_its_library_does_what_it_says(place: Path) -> None:
    code = block("## The journey with your own text", "python").replace("minutes=10", 'steps=3, recipe="tiny"')
    done = run([sys.executable, "-c", code], place)
    assert done.returncode == 0, done.stderr
    figure, filled = done.stdout.splitlines()
    assert figure.startswith("Figure(value=") and filled.startswith("The capital of France is")


def test_its_table_of_exit_codes_is_the_programs() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", README, re.M))
    assert rows == {str(code): meaning for code, meaning in EXIT_CODES.items()}


def test_every_file_it_names_is_there() -> None:
    root = Path(__file__).parent.parent
    tree = block("## The tree", "")
    names = re.findall(r"^  ([\w.]+/?)", tree, re.M)
    assert len(names) > 10
    assert all((root / "src" / "unmask" / name).exists() for name in names)
    for name in re.findall(r"(?:docs|benchmarks)/[\w.]+", README):
        assert (root / name).exists(), name
