from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from office_files import docx_bytes, encrypted_pdf, paragraph, pdf_bytes

from unmask.corpus.read import office_worker
from unmask.corpus.read.office_worker import Message, messages


def told(tmp_path: Path, content: bytes, form: str) -> list[Message]:
    (path := tmp_path / f"file.{form}").write_bytes(content)
    return list(messages(str(path), form))


def test_the_pages_of_a_pdf_come_one_after_the_other(tmp_path: Path) -> None:
    assert told(tmp_path, pdf_bytes(["First page.", "", "Third (page)\nof all."]), "pdf") == [
        {"page": 1, "text": "First page."},
        {"page": 2, "text": ""},
        {"page": 3, "text": "Third (page)\nof all."},
        {"end": None},
    ]


def test_a_pdf_is_read_without_a_password_if_everybody_may_and_else_told(tmp_path: Path) -> None:
    assert told(tmp_path, encrypted_pdf(["For all."], ""), "pdf") == [{"page": 1, "text": "For all."}, {"end": None}]
    [message] = told(tmp_path, encrypted_pdf(["For some."], "secret"), "pdf")
    assert message["end"].startswith("encrypted, it opens with a password only")


def test_pages_are_those_that_are_there_whatever_their_number_is_said_to_be(tmp_path: Path) -> None:
    pages = told(tmp_path, pdf_bytes(["Only page."], count=1_000_000), "pdf")
    assert pages == [{"page": 1, "text": "Only page."}, {"end": None}]


def test_a_page_that_unpacks_without_end_is_a_problem_and_the_next_is_read(tmp_path: Path) -> None:
    bomb = zlib.compress(b"(x) Tj " * 20_000_000, 9)
    first, second, end = told(tmp_path, pdf_bytes(["Fine."], packed=bomb), "pdf")
    assert (first["page"], second["text"], end["end"]) == (1, "Fine.", None)
    assert first["problem"].startswith("page 1 cannot be read (")


def test_more_pages_or_more_text_than_a_file_may_have_are_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(office_worker, "MAX_PAGES", 2)
    *pages, end = told(tmp_path, pdf_bytes(["One.", "Two.", "Three."]), "pdf")
    assert [page["page"] for page in pages] == [1, 2]
    assert end["end"] == "more than 2 pages; those behind were left out"
    monkeypatch.setattr(office_worker, "MAX_TEXT", 1 << 20)
    *pages, end = told(tmp_path, pdf_bytes(["x" * 700_000, "y" * 700_000]), "pdf")
    assert (len(pages), end["end"]) == (1, "more than 1 MB of text; what is behind was left out")


@pytest.mark.parametrize("content", [b"", b"no pdf", pdf_bytes(["Page."])[:60], b"%PDF-1.4\n" + bytes(range(256)) * 9])
def test_what_is_no_pdf_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    [message] = told(tmp_path, content, "pdf")
    assert message["end"].startswith("not a pdf, or damaged (")


def test_a_docx_comes_as_html(tmp_path: Path) -> None:
    page, end = told(tmp_path, docx_bytes(paragraph("Some &lt;text&gt;.")), "docx")
    assert page == {"page": 1, "text": "<p>Some &lt;text&gt;.</p>"}
    assert end == {"end": None}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"no zip", "not a docx, or damaged (BadZipFile"),
        (docx_bytes("<unclosed>"), "not a docx, or damaged ("),
        (docx_bytes(paragraph("x"))[:-40], "not a docx, or damaged (BadZipFile"),
        (b"\xd0\xcf\x11\xe0" + bytes(512), "encrypted, or an old .doc under another name"),
        (docx_bytes(paragraph("x"), bomb=b" " * (65 << 20)), "unpacks to more than 64 MB of text"),
    ],
)
def test_a_docx_that_cannot_be_read_or_is_a_bomb_is_told(tmp_path: Path, content: bytes, problem: str) -> None:
    [message] = told(tmp_path, content, "docx")
    assert message["end"].startswith(problem)


def test_a_docx_whose_entities_explode_is_told(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    doctype = f'<!DOCTYPE d [<!ENTITY e0 "ha">{entities}]>'
    [message] = told(tmp_path, docx_bytes(paragraph("&e11;"), doctype), "docx")
    assert message["end"].startswith("not a docx, or damaged (")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert list(messages(str(tmp_path / "nowhere.pdf"), "pdf")) == [{"end": "No such file or directory"}]
