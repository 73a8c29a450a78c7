"""What the README says is what happens."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.cli import COMMANDS
from unmask.errors import EXIT_CODES

ROOT = Path(__file__).parents[1]
SOME, MORE = 200, 100  # documents in my_texts/ and in more.jsonl.gz
README = (ROOT / "README.md").read_text(encoding="utf-8")


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
    (tmp_path / "my_texts" / "some.txt").write_text("\n\n".join(documents[:SOME]), encoding="utf-8")
    with gzip.open(tmp_path / "more.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in documents[SOME:])
    assert len(documents) == SOME + MORE
    return tmp_path


def documents_read(place: Path) -> int:
    """How many documents the data directory was made of."""
    return json.loads((place / "data" / "manifest.json").read_text(encoding="utf-8"))["counts"]["read"]


def test_its_commands_do_what_they_say(place: Path, inside: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    commands = block("## The journey with your own text", "sh").splitlines()
    named = [line.split()[:2] for line in commands]
    assert named == [["unmask", verb] for verb in ("prepare", "verify", "pretrain", "evaluate", "fill")]
    for line in commands:
        quick = line.replace("--minutes 10", "--steps 3").replace("mini", "tiny")  # all but the time it takes
        done = inside(*shlex.split(quick)[1:], cwd=place)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
    assert "The capital of France is" in done.stdout
    assert documents_read(place) == SOME + MORE


def test_its_library_does_what_it_says(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = block("## The journey with your own text", "python").replace("minutes=10", 'steps=3, recipe="tiny"')
    monkeypatch.chdir(place)
    capsys.readouterr()
    exec(compile(code, "README.md", "exec"), {})
    figure, filled = capsys.readouterr().out.splitlines()
    assert figure.startswith("Figure(value=") and filled.startswith("The capital of France is")
    assert documents_read(place) == SOME


def test_its_table_of_exit_codes_is_the_programs() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", README, re.M))
    assert rows == {str(code): meaning for code, meaning in EXIT_CODES.items()}


@pytest.mark.parametrize(("page", "heading"), [("README.md", "## The tree"), ("docs/design.md", "## The way through")])
def test_the_map_has_every_folder(page: str, heading: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").partition(heading)[2]
    names = re.findall(r"^  (\w+)/ ", text.partition("src/unmask/\n")[2].partition("```")[0], re.M)
    package = ROOT / "src" / "unmask"
    assert sorted(names) == sorted(path.parent.name for path in package.glob("*/__init__.py"))


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = re.compile(r"(?<![\w./])(?:src/unmask|docs|benchmarks|tests)/[\w./]*\w(?![\w*])")
MADE_UP = {"NAME"}  # stand for what a reader writes


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = {name for name in NAMED.findall(text) if not any(word in name for word in MADE_UP)}
    links = {link.partition("#")[0] for link in re.findall(r"\]\((?!https?:|#)([^)]+)\)", text)}
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []
    assert [link for link in sorted(links) if not (page.parent / link).exists()] == []


def test_every_module_on_a_documents_way_is_there() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    way = text.partition("## A document's way")[2].partition("## Laws")[0]
    names = {name for name in re.findall(r"`((?:\w+/)*\w+\.py)`", way) if "/" in name or name == "cli.py"}
    ours = {name for name in names if not name.startswith(("tests/", "docs/", "benchmarks/"))}
    assert len(ours) > 50
    assert [name for name in sorted(ours) if not (ROOT / "src" / "unmask" / name).is_file()] == []


def test_its_table_of_extras_is_the_packages() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = re.search(r"^\| extra \|.*?\n\n", README, re.M | re.S)
    assert listed and set(re.findall(r"^\| `(\w+)` \|", listed[0], re.M)) == set(declared["optional-dependencies"])


def test_its_table_of_commands_is_the_programs() -> None:
    assert re.findall(r"^\| `unmask (\w+)` \|", README, re.M) == [*COMMANDS]
