from __future__ import annotations

import io

import pytest

from unmask.corpus.read import prose
from unmask.corpus.read.find import TextSource
from unmask.corpus.read.formats import Malformed, Record
from unmask.records import Document


def html(data: bytes) -> list[Record]:
    return list(prose.read_html(io.BufferedReader(io.BytesIO(data)), TextSource("page", "html"), "text"))  # type: ignore[arg-type]


def markdown(data: bytes) -> list[Record]:
    return list(prose.read_markdown(io.BufferedReader(io.BytesIO(data)), TextSource("page", "markdown"), "text"))  # type: ignore[arg-type]


def test_blocks_are_paragraphs_and_what_is_not_prose_is_left_out() -> None:
    page = """<!DOCTYPE html><html><head><title>T</title><style>p {}</style></head><body>
      <nav><a href=x>Home</a></nav><div role="navigation">Menu</div><div hidden>Secret</div>
      <h1>Of   cats</h1>
      <p>They <em>sleep</em>,<br>and use <code>nap()</code> &amp; such.<!-- no --></p>
      <pre><code>nap(8)</code></pre><script>alert("x")</script>
      <ul><li>one<li>two</ul>
      <table><tr><td>left</td><td>right</td></tr></table>
      loose text <div><b>inner</b></div> after
      <footer>© us</footer></body></html>"""
    expected = "Of cats|They sleep, and use nap() & such.|one|two|left right|loose text|inner|after"
    assert html(page.encode()) == [Document(expected.replace("|", "\n"), "page", 1)]


def test_markdown_is_its_prose() -> None:
    page = """---
title: x
---
# Of cats

They *sleep* a lot,
says [the book](http://x.y) with `nap()`.

```python
nap()
```

    nap(8)

- one
- two

| a | b |
|---|---|
| c | d |

<script>alert(1)</script>
"""
    expected = "Of cats|They sleep a lot, says the book with nap().|one|two|a b|c d"
    assert markdown(page.encode()) == [Document(expected.replace("|", "\n"), "page", 1)]


def test_a_page_may_declare_another_encoding() -> None:
    page = "<meta charset='iso-8859-1'><p>café"
    assert html(page.encode("latin-1")) == html(page.encode()) == [Document("café", "page", 1)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            b"<p>caf\xe9",
            "not UTF-8 (unexpected end of data at byte 6); if the file is latin-1, give --encoding latin-1 "
            "(UTF-8 stays UTF-8)",
        ),
        (b"<meta charset=klingon><p>caf\xe9", "not readable as a page (unknown encoding: klingon)"),
    ],
)
def test_a_page_in_no_known_encoding_is_malformed(data: bytes, reason: str) -> None:
    assert html(data) == [Malformed("page", 1, reason)]


@pytest.mark.parametrize("data", [b"", b"  \n", b"<!-- nothing -->", b"<html></html>", b"<?xml version='1.0'?>"])
def test_a_page_without_text_is_an_empty_document(data: bytes) -> None:
    assert html(data) == [Document("", "page", 1)]


def test_an_xml_declaration_and_deep_nesting_do_no_harm() -> None:
    page = b'<?xml version="1.0" encoding="utf-8"?><html><body>' + b"<div>" * 200 + b"deep</body></html>"
    assert html(page) == [Document("deep", "page", 1)]


def test_a_page_too_large_for_a_page_is_malformed_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "ROW", 1 << 20)
    assert html(b"<p>x" * (1 << 20)) == [Malformed("page", 0, "a page of more than 1 MB")]


def test_the_cells_of_a_row_are_one_paragraph_where_that_is_asked_for() -> None:
    page = "<table><tr><td><p>a</p><p>b</p></td><td><p>c</p></td></tr><tr><td>d</td></tr></table><p>e</p>"
    assert list(prose.paragraphs(page)) == ["a", "b", "c", "d", "e"]
    assert list(prose.paragraphs(page, rows_in_line=True)) == ["a b c", "d", "e"]
