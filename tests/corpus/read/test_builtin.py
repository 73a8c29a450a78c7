from __future__ import annotations

import ast
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from unmask.corpus.read import builtin
from unmask.corpus.read.docstrings import SENTENCE, is_english
from unmask.corpus.read.find import find_sources
from unmask.corpus.read.reader import read_source
from unmask.records import Document


@pytest.fixture(scope="module")
def some() -> Iterator[None]:
    """The topics and every tenth module of each package: all of it is a benchmark's business."""
    by_package: dict[str, list[tuple[Path, str]]] = {}
    for path, name in builtin.modules():
        by_package.setdefault(name.partition("/")[0], []).append((path, name))
    part = tuple(module for modules in by_package.values() for module in modules[::10])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtin, "modules", lambda: part)
        yield


@pytest.fixture(scope="module")
def corpus(some: None) -> list[Document]:
    taken: list[int] = []
    documents = list(builtin.documents(taken.append))
    assert sum(taken) == pytest.approx(builtin.source_bytes(), rel=0.02)
    return documents


def test_a_tenth_of_the_modules_and_the_topics_are_a_megabyte_of_prose(corpus: list[Document]) -> None:
    assert sum(len(document.text.encode()) for document in corpus) > 1.2e6


def test_no_paragraph_comes_twice_and_every_sentence_is_english(corpus: list[Document]) -> None:
    paragraphs = [paragraph for document in corpus for paragraph in document.text.split("\n")]
    assert Counter(paragraphs).most_common(1)[0][1] == 1
    sampled = [sentence for paragraph in paragraphs[::5] for sentence in SENTENCE.split(paragraph)]
    whole = [sentence for sentence in sampled if " " in sentence]  # an abbreviation alone is split off for one
    assert [sentence for sentence in whole if not is_english(sentence)] == []


def test_topics_the_standard_library_and_dependencies_are_all_there(corpus: list[Document]) -> None:
    kinds = Counter(document.source.split(":")[1].split("/")[0] for document in corpus)
    assert min(kinds[name] for name in ("topics", "python", "numpy", "torch", "transformers")) > 8
    assert not any("/tests/" in name for _, name in builtin.modules())
    assert "unmask" not in kinds


def test_it_is_read_by_its_name_and_who_stops_early_waits_for_nobody() -> None:
    [source] = find_sources(["builtin"])
    reading = read_source(source)
    found = next(record for record in reading if not record.source.startswith("builtin:topics"))
    assert found.source.startswith("builtin:python/")
    began = time.monotonic()
    reading.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 5


def test_docstrings_found_by_their_quotes_are_those_a_parser_finds() -> None:
    missed = found = 0
    for path in sorted(Path(os.__file__).parent.glob("[a-m]*.py")):
        source = path.read_text(encoding="utf-8")
        nodes = [node for node in ast.walk(ast.parse(source)) if hasattr(node, "body")]
        documented = [node for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        parsed = {ast.get_docstring(node, clean=False) for node in documented} - {None}
        long = {text for text in parsed if text and "\\" not in source and "\n" in text}
        ours = {text for _, text in builtin.docstrings(source)}
        found += len(long & ours)
        missed += len(long - ours)
    assert found > 100
    assert missed == 0


def test_quotes_inside_comments_and_strings_deceive_nobody() -> None:
    data = """x = "'''"  # \"\"\"\ny = \"\"\"not\na docstring\"\"\"\n"""
    source = f'{data}def f():\n    """It is one."""\nadd_docstr(f, r"""So is it.""")'
    assert list(builtin.docstrings(source)) == [(5, "It is one."), (6, "So is it.")]


def test_a_module_that_is_not_utf8_is_passed_over(tmp_path: Path) -> None:
    (path := tmp_path / "x.py").write_bytes(b'"""caf\xe9"""')
    assert builtin.module_prose(path) == (0, 1, [])
