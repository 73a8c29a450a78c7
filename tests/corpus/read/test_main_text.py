from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import unmask
from unmask.corpus.read import find, main_text, office
from unmask.corpus.read.find import MAIN, WHOLE, TextSource
from unmask.corpus.read.formats import Malformed, Record
from unmask.corpus.read.prose import read_html
from unmask.errors import BadInput
from unmask.records import Document

PAGES = Path(__file__).parents[3] / "benchmarks" / "pages"


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    yield
    office.end_idle_workers()


def read(data: bytes, html: str) -> Record:
    (record,) = read_html(io.BufferedReader(io.BytesIO(data)), TextSource("page", "html", html=html), "text")  # type: ignore[arg-type]
    return record


def text_of(name: str, html: str) -> str:
    record = read((PAGES / f"{name}.html").read_bytes(), html)
    assert isinstance(record, Document)
    return record.text


def test_main_text_leaves_out_what_is_not_the_author_s_and_whole_loses_none_of_it() -> None:
    around = {
        "recipe": ("Buy our new pan", "Pin it", "Sign up and never", "Imprint"),
        "article": ("Privacy policy", "All rights reserved"),
    }
    for name, others in around.items():
        wanted = (PAGES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        whole, main = text_of(name, WHOLE), text_of(name, MAIN)
        assert [line for line in wanted if line not in whole.splitlines()] == []
        assert [words for words in others if words in main] == []
        prose = [line for line in wanted if len(line) > 40]
        assert [line for line in prose if line not in main.splitlines()] == []


def test_a_page_that_takes_too_long_is_malformed_and_the_next_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_text, "SECONDS", 0.0)
    record = read(b"<p>" * 100_000, MAIN)
    assert record == Malformed("page", 1, "not readable as a page (nothing came for 0 seconds)")
    monkeypatch.setattr(main_text, "SECONDS", 30.0)
    assert read(b"<p>A page of prose that is read.", MAIN) == Document("A page of prose that is read.", "page", 1)


def test_which_reader_ran_is_in_the_manifest_and_one_that_is_not_installed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(40):
        paragraph = f"<p>Page {number} tells of ships, cats and the sea, and of what they do in winter.</p>"
        menu = "<div class='advertisement'><a href=a>Everywhere the same menu</a></div>"
        (folder / f"{number}.html").write_text(f"<html><body>{menu}<article>{paragraph}</article></body></html>")
    for html in (WHOLE, MAIN):
        unmask.prepare(str(folder), out=tmp_path / html, html=html, vocab_size=90)
        assert json.loads((tmp_path / html / "manifest.json").read_text())["input"]["html"] == html
        texts = [document.text for document in documents(tmp_path / html)]
        assert any("Everywhere the same menu" in text for text in texts) is (html == WHOLE)
    monkeypatch.setattr(find, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"^--html main: .*: pip install 'unmask\[html\]'$"):
        unmask.prepare(str(folder), out=tmp_path / "out", html=MAIN)


def documents(data: Path) -> Iterator[Document]:
    import pyarrow.parquet as pq

    for path in sorted((data / "documents").glob("*/*.parquet")):
        for row in pq.read_table(path, columns=["text", "source", "line"]).to_pylist():
            yield Document(row["text"], row["source"], row["line"])
