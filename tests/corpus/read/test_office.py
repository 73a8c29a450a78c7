"""Laws of reading PDF and docx: in a process of its own, whatever the file does to it."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from office_files import docx_bytes, encrypted_pdf, paragraph, pdf_bytes, table

from unmask.corpus.read import office
from unmask.corpus.read.find import TextSource, find_sources
from unmask.corpus.read.formats import MAX_CHARACTERS, Malformed, Record, TextlessPages
from unmask.corpus.read.reader import read_source
from unmask.records import Document


def read(path: Path, content: bytes | None = None) -> list[Record]:
    if content is not None:
        path.write_bytes(content)
    [source] = find_sources([str(path)])
    return list(read_source(source))


def test_a_pdf_is_a_document_of_paragraphs_with_the_page_it_begins_on(tmp_path: Path) -> None:
    pages = ["", "A Heading\nThe first paragraph of the para-\ngraphs goes on over", "the page, and ends.\n3"]
    path = tmp_path / "a.pdf"
    assert read(path, pdf_bytes(pages)) == [
        Document("A Heading\nThe first paragraph of the paragraphs goes on over the page, and ends.", str(path), 2),
        TextlessPages(str(path), 1, 3),
    ]


def test_a_long_pdf_is_several_documents_and_nothing_is_lost(tmp_path: Path) -> None:
    pages = [f"Page {number} of many.\n{'word ' * 5_000}" for number in range(1, 11)]
    records = read(tmp_path / "a.pdf", pdf_bytes(pages))
    assert [record.line for record in records] == [1, 4, 7, 10]
    texts = [record.text for record in records if isinstance(record, Document)]
    assert max(map(len, texts)) <= MAX_CHARACTERS
    assert " ".join(texts).split() == " ".join(pages).split()


def test_a_docx_is_its_paragraphs_and_the_rows_of_its_tables_in_their_order(tmp_path: Path) -> None:
    control = f"<w:sdt><w:sdtContent>{paragraph('In a form.')}</w:sdtContent></w:sdt>"
    inserted = "<w:p><w:ins><w:r><w:t>Inserted.</w:t></w:r></w:ins></w:p>"
    deleted = "<w:p><w:del><w:r><w:delText>Deleted.</w:delText></w:r></w:del></w:p>"
    body = paragraph("Before.") + table(("Name", "Age"), ("Ada", "36")) + paragraph("After.") + control
    path = tmp_path / "a.docx"
    assert read(path, docx_bytes(body + inserted + deleted)) == [
        Document("Before.\nName Age\nAda 36\nAfter.\nIn a form.\nInserted.", str(path), 1)
    ]


def test_a_docx_without_text_is_told(tmp_path: Path) -> None:
    assert read(tmp_path / "a.docx", docx_bytes("")) == [Malformed(f"{tmp_path}/a.docx", 0, "holds no text")]


def test_a_file_that_needs_a_password_is_named_and_the_next_is_read_by_the_same_process(tmp_path: Path) -> None:
    [locked] = read(tmp_path / "a.pdf", encrypted_pdf(["Secret."], "word"))
    assert isinstance(locked, Malformed) and locked.reason.startswith("encrypted, it opens with a password only")
    [worker] = office._IDLE
    [document] = read(tmp_path / "b.pdf", pdf_bytes(["Open."]))
    assert isinstance(document, Document) and document.text == "Open."
    assert office._IDLE[0] is worker


def test_a_file_that_never_gives_a_page_is_left_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(office, "SECONDS", 0.2)
    os.mkfifo(endless := tmp_path / "a.pdf")  # opening it waits for somebody who never comes
    content = open(os.devnull, "rb")  # noqa: PTH123, SIM115
    assert list(office.read_pdf(content, TextSource(str(endless), "pdf"), "text")) == [
        Malformed(str(endless), 0, "nothing came for 0 seconds")
    ]
    content.close()
    assert office._IDLE == []
    monkeypatch.setattr(office, "SECONDS", 60.0)
    assert isinstance(read(tmp_path / "b.pdf", pdf_bytes(["Fine."]))[0], Document)


def test_a_process_that_is_gone_is_told_or_replaced(tmp_path: Path) -> None:
    office.end_idle_workers()
    pages = pdf_bytes([f"Page {number}.\n{'word ' * 5_000}" for number in range(60)])
    (path := tmp_path / "a.pdf").write_bytes(pages)
    [source] = find_sources([str(path)])
    reading = read_source(source)
    assert isinstance(next(reading), Document)
    [child] = children()
    os.kill(child, signal.SIGKILL)
    last = list(reading)[-1]
    assert isinstance(last, Malformed) and last.reason.startswith("the process that opened it is gone, behind page")
    read(tmp_path / "b.pdf", pdf_bytes(["Fine."]))
    [idle] = office._IDLE
    idle._process.kill()
    idle._process.wait()
    assert isinstance(read(tmp_path / "b.pdf")[0], Document)


def test_no_process_is_left_when_reading_is_given_up(tmp_path: Path) -> None:
    office.end_idle_workers()
    (path := tmp_path / "a.pdf").write_bytes(pdf_bytes([f"Page {number}.\n{'word ' * 9_000}" for number in range(60)]))
    [source] = find_sources([str(path)])
    reading = read_source(source)
    next(reading)
    reading.close()
    assert children() == []


def children() -> list[int]:
    """The processes that this one has started and that run the worker."""
    listing = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    return [int(line.split()[0]) for line in listing.stdout.splitlines() if "office_worker" in line]


def test_a_compressed_file_that_unpacks_without_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "UNPACKED", 1 << 20)
    [bomb] = read(tmp_path / "a.pdf.gz", gzip.compress(pdf_bytes(["Fine."]) + bytes(2 << 20)))
    assert isinstance(bomb, Malformed) and bomb.reason.startswith("unpacks to more than")


def test_reading_text_starts_no_process_and_loads_no_office_library() -> None:
    code = "import sys, unmask.corpus.read.reader; print([n for n in ('pypdf', 'mammoth') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
